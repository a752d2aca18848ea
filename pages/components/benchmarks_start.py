"""Running benchmarks: which models with which, what is under way, and what has ended."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from curation.generation.run import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs
from pages.components import (
    background,
    benchmarks_data,
    benchmarks_models,
    errors,
    generate_key,
    project,
    run_view,
    signin,
)
from pages.components.benchmarks_words import SCORES, SECTION
from training.benchmark_data import DataChoice
from training.benchmark_models import CHAT, ModelChoice
from training.benchmark_runs import KIND, BenchmarkRequest, request_benchmarks
from training.benchmarks.catalogue import benchmark
from training.benchmarks.general import SUITES

SUITE_NOTES: Mapping[str, str] = {
    "quick": "minutes on two cores; the smallest of each kind",
    "lite": "the 16 data sets of HedgeTriple's Table 2",
    "nano": "retrieval with 50 queries each",
    "full": "the 56 data sets of its Table 1; takes a GPU, or days",
}

SHOWN_RUNS = 20

_PROBLEM = "bench_problem"


def draw() -> None:
    """What is at work or has just ended, and the next run."""
    with reading(project.engine()) as session:
        runs = list_runs(session, kind=KIND, limit=SHOWN_RUNS)
    active = [run for run in reversed(runs) if run.state in UNFINISHED]
    for run in active:
        run_view.follow(run, title=title(run))
    if runs and not active:
        _ended(runs[0])
    _box(busy=bool(active))


def title(run: Run) -> str:
    """What a run measures; it holds the names of models."""
    request = BenchmarkRequest.model_validate(run.parameters)
    what = [benchmark(choice.benchmark).title for choice in request.benchmarks]
    what += [f"mteb {name}" for name in (*request.suites, *request.tasks)]
    models = [model.name or model.architecture for model in request.models]
    return f"{_few(what)} with {_few(models)}"


def _few(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    rest = f" and {len(unique) - 3} more" if len(unique) > 3 else ""
    return ", ".join(unique[:3]) + rest


def _ended(run: Run) -> None:
    """What the newest run came to; where it failed, why, and how it goes on."""
    if run.state != RunState.DONE:
        run_view.stopped(run, again=lambda: _again(run), label="Measure what is missing")
        return
    measured = int(run.result.get("measured", 0))
    left_out = [str(name) for name in run.result.get("left_out", ())]
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"bench-ended-{run.id}"
    ):
        results = f"{measured:,} result{'' if measured == 1 else 's'}"
        said = f"Run {run.id} is done: {results}; {title(run)}."
        if left_out:
            said += f" In mteb's tasks {_few(left_out)} took no part."
        st.text(said, width="stretch")
        st.button("Show the scores", key=f"bench-show-{run.id}", on_click=_to_scores)


def _to_scores() -> None:
    st.session_state[SECTION] = SCORES


def _again(run: Run) -> None:
    """Carry a stopped run out again; a chat model's key goes with it."""
    try:
        request = BenchmarkRequest.model_validate(run.parameters)
        background.start_again(run, _keys(request.models))
    except HedgerowError as error:
        st.session_state[_PROBLEM] = str(error)


def _keys(models: Sequence[ModelChoice]) -> dict[str, str]:
    """What the process finds in its environment; there is one chat model at most."""
    found: dict[str, str] = {}
    for model in models:
        if model.architecture == CHAT:
            found |= generate_key.environment(model.base_url)
    return found


def _box(*, busy: bool) -> None:
    """The choices, what they come to in one sentence, and the button."""
    with st.container(border=True, key="bench-who"):
        st.header("Models", anchor=False)
        models = benchmarks_models.choose()
    st.header("Negation", anchor=False)
    data = benchmarks_data.choose()
    with st.container(border=True, key="bench-general"):
        st.header("General ability", anchor=False)
        suites = _suites()
    with st.container(border=True, key="bench-start-box"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Run", key="bench-start", type="primary", icon=":material/play_arrow:",
                disabled=not models or not (data or suites), on_click=_start,
                args=(models, data, suites),
            )  # fmt: skip
            st.text(_promise(len(models), data, suites, busy=busy), width="stretch")
        if problem := st.session_state.pop(_PROBLEM, ""):
            errors.show(problem, key="bench-start")


def _suites() -> list[str]:
    st.text(
        "Tasks of the Massive Text Embedding Benchmark (English) by the mteb package; their data "
        "come from the model hub, or from its cache."
    )
    chosen: list[str] = st.multiselect(
        "Suites", list(SUITES), key="bench-suites", placeholder="None", persist_state="session"
    )
    for name in chosen:
        st.text(f"{name}: {len(SUITES[name])} tasks, {SUITE_NOTES[name]}.")
    return chosen


def _promise(models: int, data: Sequence[DataChoice], suites: Sequence[str], *, busy: bool) -> str:
    """What the click will do."""
    tasks = len({task for name in suites for task in SUITES[name]})
    if not models:
        return "Choose at least one model."
    if not (data or tasks):
        return "Tick at least one benchmark, or choose a suite."
    parts = []
    if data:
        parts.append(f"{len(data)} benchmark{'' if len(data) == 1 else 's'}")
    if tasks:
        parts.append(f"{tasks} task{'' if tasks == 1 else 's'} of mteb")
    wait = " Waits until the run under way has ended." if busy else ""
    return (
        f"Measures {models} model{'' if models == 1 else 's'} with {' and '.join(parts)}. Each "
        "model is loaded once and every result is stored as soon as it is there; you can close the "
        f"browser meanwhile.{wait}"
    )


def _start(models: list[dict[str, Any]], data: list[DataChoice], suites: list[str]) -> None:
    """Store the run and start its process; a problem is told beside the button."""
    try:
        chosen = tuple(checked(ModelChoice, values) for values in models)
        request = BenchmarkRequest(models=chosen, benchmarks=tuple(data), suites=tuple(suites))
        with writing(project.engine()) as session:
            run = request_benchmarks(
                session, project.settings(), request, requested_by=signin.reviewer_id()
            )
            _refuse_a_double(run, list_runs(session, kind=KIND, limit=SHOWN_RUNS))
        background.start_process_of(run, _keys(chosen))
    except HedgerowError as error:
        st.session_state[_PROBLEM] = str(error)


def _refuse_a_double(run: Run, others: Sequence[Run]) -> None:
    for other in others:
        if other.id != run.id and other.state in UNFINISHED and other.parameters == run.parameters:
            raise HedgerowError(f"Run {other.id} measures just that already; wait for its end.")
