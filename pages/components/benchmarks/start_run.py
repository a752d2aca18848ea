"""Running benchmarks: the models and tasks, the runs in progress, and the latest one."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from curation.formatting import counted
from curation.generation.request import Budget
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs
from pages.components.benchmarks import data_choice, general_choice, models_choice, prompt_choice
from pages.components.benchmarks.general_choice import General
from pages.components.benchmarks.names import SCORES, SECTION
from pages.components.benchmarks.run_preview import promise
from pages.components.shared.chat_models import provider_key
from pages.components.shared.runs import background, progress_view, spending_caps
from pages.components.shared.shell import error_messages, open_project, rights, signin
from training.benchmarks.catalogue import benchmark
from training.benchmarks.data.sources import DataChoice
from training.benchmarks.harness.names import LM_EVAL, title_of
from training.benchmarks.runs.cost_forecast import plan_benchmarks
from training.benchmarks.runs.measured_models import CHAT, ModelChoice, chosen_model
from training.benchmarks.runs.request import KIND, BenchmarkRequest, request_benchmarks
from training.benchmarks.scorers.prompted.wording import chosen_versions
from training.benchmarks.tasks.general_names import require_tasks
from training.models.display_names import short_name

SHOWN_RUNS = 20

_PROBLEM = "bench_problem"


def draw() -> None:
    """The current or latest run, and the form for the next one."""
    runs = open_project.ask(list_runs, kind=KIND, limit=SHOWN_RUNS)
    active = [run for run in reversed(runs) if run.state in UNFINISHED]
    for run in active:
        progress_view.follow(run, title=title(run))
    if runs and not active:
        _ended(runs[0])
    _box(busy=bool(active))


def title(run: Run) -> str:
    """The benchmarks and the models of a run."""
    request = BenchmarkRequest.model_validate(run.parameters)
    what = [benchmark(choice.benchmark).title for choice in request.benchmarks]
    what += [f"mteb {name}" for name in (*request.suites, *request.tasks)]
    what += [title_of(f"{LM_EVAL}{name}") for name in request.language_tasks]
    models = [short_name(model.name) or model.architecture for model in request.models]
    return f"{_few(what)} with {_few(models)}"


def _few(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    rest = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
    return ", ".join(unique[:3]) + rest


def _ended(run: Run) -> None:
    """The outcome of the newest run; if it failed, the reason and a button to continue."""
    if run.state == RunState.PAUSED:
        _paused(run)
        return
    if run.state != RunState.DONE:
        progress_view.stopped(run, again=lambda: _again(run), label="Run the missing parts")
        return
    measured = int(run.result.get("measured", 0))
    left_out = [str(name) for name in run.result.get("left_out", ())]
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"bench-ended-{run.id}"
    ):
        results = counted(measured, "result")
        text = f"Run {run.id} is done. It has {results}: {title(run)}."
        if left_out:
            text += f" Skipped for tasks they can't do: {_few(left_out)}."
        st.text(text, width="stretch")
        st.button("Show the scores", key=f"bench-show-{run.id}", on_click=_to_scores)


def _paused(run: Run) -> None:
    """A run that reached its limits: its progress, and boxes for higher limits."""
    with st.container(border=True, key=f"bench-paused-{run.id}"):
        st.text(f"Run {run.id}: {title(run)}")
        st.text(f"{run.message} All answers are stored. Resuming the run requests only the rest.")
        if not rights.only_leads("resume runs"):
            return
        budget = spending_caps.boxes(run)
        for model in BenchmarkRequest.model_validate(run.parameters).models:
            if model.architecture == CHAT:
                provider_key.draw(model.base_url, place=f"-{run.id}")
        st.button(
            "Resume",
            key=f"again-{run.id}",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_again,
            args=(run, budget),
        )
        progress_view.log(run)


def _to_scores() -> None:
    st.session_state[SECTION] = SCORES


def _again(run: Run, budget: Budget | None = None) -> None:
    """Restart a stopped run, optionally with other limits, and pass the chat model's key."""
    with error_messages.kept_for(_PROBLEM):
        if budget is not None:
            spending_caps.apply(run, budget)
        request = BenchmarkRequest.model_validate(run.parameters)
        background.start_again(run, _keys(request.models))


def _keys(models: Sequence[ModelChoice]) -> dict[str, str]:
    """Environment variables for the process; there is at most one chat model."""
    found: dict[str, str] = {}
    for model in models:
        if model.architecture == CHAT:
            found |= provider_key.environment(model.base_url)
    return found


@rights.for_leads("start benchmark runs")
def _box(*, busy: bool) -> None:
    """The choices, a summary, and the button."""
    with st.container(border=True, key="bench-who"):
        st.header("Models", anchor=False)
        models, budget = models_choice.choose()
        versions = prompt_choice.choose()
    st.header("Negation", anchor=False)
    data = data_choice.choose()
    with st.container(border=True, key="bench-general"):
        st.header("General ability", anchor=False)
        general = general_choice.choose()
    with st.container(border=True, key="bench-start-box"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Run",
                key="bench-start",
                type="primary",
                icon=":material/play_arrow:",
                disabled=not models or not (data or general.any),
                on_click=_start,
                args=(models, data, general, budget, versions),
            )
            summary = _plan_text(models, data, general, budget, versions, busy=busy)
            st.text(summary, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _plan_text(
    models: Sequence[dict[str, Any]],
    data: Sequence[DataChoice],
    general: General,
    budget: Budget,
    versions: Mapping[str, int],
    *,
    busy: bool,
) -> str:
    """What the button will do and how long it takes, or what is missing."""
    if not models:
        return "Choose at least one model."
    if not (data or general.any):
        return "Choose at least one benchmark, suite or task."
    try:
        chosen = [chosen_model(values) for values in models]
        asked_with = chosen_versions(versions)
    except HedgerowError as error:
        return str(error)
    plan = open_project.ask(
        plan_benchmarks, open_project.settings(), chosen, data, asked_with=asked_with
    )
    return promise(plan, benchmarks=len(data), general=general, budget=budget, busy=busy)


def _start(
    models: list[dict[str, Any]],
    data: list[DataChoice],
    general: General,
    budget: Budget,
    versions: Mapping[str, int],
) -> None:
    """Store the run and start its process; a problem is shown next to the button."""
    with error_messages.kept_for(_PROBLEM):
        chosen = tuple(chosen_model(values) for values in models)
        request = BenchmarkRequest(
            models=chosen,
            benchmarks=tuple(data),
            suites=general.suites,
            tasks=general.tasks,
            language_tasks=general.language_tasks,
            tasks_folder=general.tasks_folder,
            budget=budget,
            asked_with=chosen_versions(versions),
        )
        require_tasks(request.tasks)  # slow; would block other writers in a transaction
        run = open_project.tell(
            request_benchmarks,
            open_project.settings(),
            request,
            requested_by=signin.reviewer_id(),
        )
        background.start_process_of(run, _keys(chosen))
