"""Running benchmarks: the models and tasks, the runs in progress, and the latest one."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from curation.formatting import counted, duration
from curation.generation.prices import dollars
from curation.generation.request import Budget
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs
from pages.components.benchmarks import data_choice, general_choice, models_choice
from pages.components.benchmarks.names import SCORES, SECTION
from pages.components.shared import model_choice, page_runs, run_cost
from pages.components.shared.shell import current_user, error_messages, open_project
from training.benchmarks.catalogue import benchmark
from training.benchmarks.harness_names import LM_EVAL, title_of
from training.benchmarks.runs.measured_models import CHAT, ModelChoice, chosen_model
from training.benchmarks.runs.request import (
    BENCHMARK,
    KIND,
    BenchmarkPlan,
    BenchmarkRequest,
    Chats,
    ModelPlan,
    plan_benchmarks,
)
from training.benchmarks.scorers.prompted.wording import chosen_versions
from training.benchmarks.sources import DataChoice
from training.models.display_names import short_name

SHOWN_RUNS = 20

_PROBLEM = "bench_problem"


def draw() -> None:
    """The current or latest run, and the form for the next one."""
    runs = open_project.ask(list_runs, kind=KIND, limit=SHOWN_RUNS)
    active = [run for run in reversed(runs) if run.state in UNFINISHED]
    for run in active:
        page_runs.follow(run, title=title(run))
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
        page_runs.stopped(run, again=lambda: _again(run), label="Run the missing parts")
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
        st.button(
            "Show the scores",
            key=f"bench-show-{run.id}",
            on_click=st.session_state.update,
            args=({SECTION: SCORES},),
        )


def _paused(run: Run) -> None:
    """A run that reached its limits: its progress, and boxes for higher limits."""
    with st.container(border=True, key=f"bench-paused-{run.id}"):
        st.text(f"Run {run.id}: {title(run)}")
        st.text(f"{run.message} All answers are stored. Resuming the run requests only the rest.")
        if not current_user.only_leads("resume runs"):
            return
        budget = run_cost.cap_boxes(run)
        for model in BenchmarkRequest.model_validate(run.parameters).models:
            if model.architecture == CHAT:
                model_choice.key_field(model.base_url, place=f"-{run.id}")
        st.button(
            "Resume",
            key=f"again-{run.id}",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_again,
            args=(run, budget),
        )
        page_runs.log(run)


def _again(run: Run, budget: Budget | None = None) -> None:
    """Restart a stopped run, optionally with other limits, and pass the chat model's key."""
    with error_messages.kept_for(_PROBLEM):
        if budget is not None:
            run_cost.apply_caps(run, budget)
        request = BenchmarkRequest.model_validate(run.parameters)
        page_runs.start_again(run, _keys(request.models))


def _keys(models: Sequence[ModelChoice]) -> dict[str, str]:
    """Environment variables for the process; there is at most one chat model."""
    chats = (model.base_url for model in models if model.architecture == CHAT)
    return next(map(model_choice.key_environment, chats), {})


@current_user.for_leads("start benchmark runs")
def _box(*, busy: bool) -> None:
    """The choices, a summary, and the button."""
    with st.container(border=True, key="bench-who"):
        st.header("Models", anchor=False)
        models, budget = models_choice.choose_models()
        versions = models_choice.choose_prompts()
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
    general: general_choice.General,
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
    general: general_choice.General,
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
        page_runs.begin(BENCHMARK, request, _keys(chosen))


# -- A description of what Run will do and how long it takes --------------------------------------


def promise(
    plan: BenchmarkPlan,
    *,
    benchmarks: int,
    general: general_choice.General,
    budget: Budget,
    busy: bool,
) -> str:
    """What it measures, how long that takes, and what it costs."""
    what = []
    if benchmarks:
        what.append(counted(benchmarks, "benchmark") + _sizes(plan))
    if general.number:
        takes = f" ({general.takes} with a small encoder on two CPU cores)" if general.takes else ""
        what.append(f"{counted(general.number, 'task')} of mteb{takes}")
    if general.language_tasks:
        what.append(counted(len(general.language_tasks), "task") + " of lm_eval")
    sentences = [f"Runs {counted(len(plan.models), 'model')} on {' and '.join(what)}."]
    if benchmarks:
        if plan.unknown:
            names = " and ".join(plan.unknown)
            sentences.append(
                f"Not included, because the data is missing or can't be read: {names}."
            )
        sentences.append(_time(plan, alone=not general.any))
        sentences += [
            _asked(model, model.chats, budget)
            for model in plan.models
            if model.chats and plan.items
        ]
    sentences.append("Each result is stored as soon as it is ready. You can close the browser.")
    if busy:
        sentences.append("This run starts when the current one has ended.")
    return " ".join(filter(None, sentences))


def _sizes(plan: BenchmarkPlan) -> str:
    if not plan.items:
        return ""
    parts = (
        counted(plan.items, "item"),
        f"{plan.questions:,} {'query' if plan.questions == 1 else 'queries'}",
        counted(plan.texts, "text"),
    )
    return f" ({', '.join(parts)})"


def _time(plan: BenchmarkPlan, *, alone: bool) -> str:
    """The time for models that run locally, separately if there are several.

    Args:
        alone: whether nothing but the benchmarks is measured.
    """
    if not plan.items:
        return ""
    known = [(model, model.seconds) for model in plan.models if model.seconds is not None]
    timed = [(model, seconds) for model, seconds in known if seconds and not model.chats]
    untimed = [model for model in plan.models if model.seconds is None and not model.chats]
    sentences = []
    total = sum(seconds for _, seconds in timed)
    whole = "This takes" if alone and not plan.unknown else "The benchmarks take"
    if len(timed) == 1:
        whose = f" with {short_name(timed[0][0].name)}" if len(plan.models) > 1 else ""
        sentences.append(f"{whole} {duration(total)}{whose}.")
    elif timed:
        spans = {short_name(model.name): duration(s) for model, s in timed}
        each = ", ".join(f"{span} for {name}" for name, span in spans.items())
        detail = "" if set(spans.values()) == {duration(total)} else f": {each}"
        sentences.append(f"{whole} {duration(total)} in total{detail}.")
    if untimed:
        new = " and ".join(short_name(model.name) for model in untimed)
        sentences.append(f"There is no time estimate for {new} before the first run.")
    return " ".join(sentences)


def _asked(model: ModelPlan, chats: Chats, budget: Budget) -> str:
    """The prompts and the cost of a chat model."""
    tokens = f"about {_round(chats.tokens_in):,} input and {_round(chats.tokens_out):,} output"
    text = f"{short_name(model.name)} gets {counted(chats.prompts, 'prompt')} ({tokens} tokens)"
    if model.seconds:
        text += f", takes {duration(model.seconds)}"
    if chats.cost is None:
        return f"{text}."
    text += f", and costs about {dollars(chats.cost)}"
    if chats.most is not None:
        text += f" with one-word answers, {dollars(chats.most)} with answers of maximum length"
    worst = chats.cost if chats.most is None else chats.most
    if budget.money is not None and worst > budget.money:
        sure = "pauses at" if chats.cost > budget.money else "pauses if it reaches"
        return f"{text}. The run {sure} {dollars(budget.money)}."
    if budget.calls is not None and chats.prompts > budget.calls:
        return f"{text}. The run pauses after {budget.calls:,} calls."
    return f"{text}."


def _round(number: float) -> int:
    """Round to two significant digits."""
    digits = len(str(round(number)))
    return int(round(number, min(0, 2 - digits)))
