"""The sections of the Train page, and its runs: the chosen one, those in progress, the latest."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from db.models import Run, RunState
from db.runs import UNFINISHED, get_runs
from pages.components.shared import page_runs
from pages.components.shared.shell import error_messages, frame, open_project
from pages.components.train import curves_view
from training.evaluation.held_out import RANKED
from training.finetune import checkpoints
from training.models.display_names import short_name
from training.studies.members import trials

SECTION = "step"
"""Key of the section choice, and its name in the URL."""

TRAIN, RESULTS, STUDIES, RUNS, NEVIR = SECTIONS = ("Train", "Results", "Studies", "Runs", "NevIR")

RUN = "run"
"""Name of the chosen run in the URL."""

_CHOSEN, _WRITTEN = "train_run", "train_run_in_address"


def show_run(run_id: int, key: str = SECTION, section: str = RESULTS) -> None:
    """Go to the results of a run; for callbacks."""
    st.session_state[key] = section
    remember(run_id)


def remember(run_id: int) -> None:
    """Choose this run wherever results are shown."""
    st.session_state[_CHOSEN] = run_id


def choose_run(by_id: Mapping[int, Run], *, title: Callable[[Run], str]) -> Run:
    """Draw the choice of a run whose results to show. Returns the chosen run.

    The default is the run in the URL, the run last chosen in this session, or the newest run, if
    possible a finished one.

    Args:
        by_id: at least one run, the newest first.
        title: says what a run trained.
    """
    key = f"train-run-{max(by_id)}"  # a new key when the choices change
    wanted = _wanted(by_id)
    if st.session_state.get(key) != wanted:
        st.session_state[key] = wanted
    names = {run_id: page_runs.named(run, title(run)) for run_id, run in by_id.items()}
    chosen: int = st.selectbox(
        "Run",
        list(by_id),
        format_func=lambda run_id: names[run_id],
        key=key,
        on_change=lambda: remember(st.session_state[key]),
    )
    remember(chosen)
    st.session_state[_WRITTEN] = str(chosen)
    if st.query_params.get(RUN) != str(chosen):
        st.query_params[RUN] = str(chosen)
    return by_id[chosen]


def _wanted(by_id: Mapping[int, Run]) -> int:
    state = st.session_state
    number = st.query_params.get(RUN, "")
    if number != state.get(_WRITTEN) and number.isdecimal() and int(number) in by_id:
        return int(number)  # the user followed a link
    kept = state.get(_CHOSEN)
    if isinstance(kept, int) and kept in by_id:
        return kept
    done = (run_id for run_id, run in by_id.items() if run.state == RunState.DONE)
    return next(done, next(iter(by_id)))


def choose_among(label: str, runs: Sequence[Run], title: Callable[[Run], str], *, key: str) -> Run:
    """Draw the choice of one of several runs, by default the first. Returns it."""
    by_id = {run.id: run for run in runs}
    chosen: int = st.selectbox(
        label,
        list(by_id),
        format_func=lambda key: page_runs.named(by_id[key], title(by_id[key])),
        key=f"{key}-{max(by_id)}",  # a new widget when the choices change
    )
    return by_id[chosen]


def states(study: Run) -> None:
    """The state of each run of a study in progress."""
    st.text(
        "\n".join(
            f"{trial.label}: {page_runs.STATES[trial.run.state]} (run {trial.run.id})"
            for trial in open_project.ask(trials, study)
        )
    )


def how_to_load(model: Path) -> None:
    """The lines of Python that load a trained encoder."""
    st.code(
        "from sentence_transformers import SentenceTransformer\n"
        f"model = SentenceTransformer({str(model)!r})",
        language=None,
        wrap_lines=True,
    )


def leave_results() -> None:
    """Remove the run from the URL where no run is chosen."""
    st.session_state.pop(_WRITTEN, None)
    st.query_params.pop(RUN, None)


def encoder_title(run: Run) -> str:
    """The base encoder and the release of a training run, as a label for a menu."""
    recipe: Mapping[str, Any] = run.parameters["recipe"]
    return f"{short_name(recipe['base_encoder'])} on release {run.parameters['release']}"


# -- The kind of model that the Train page shows: a text encoder or a language model --------------


SIDE = "kind"
"""Key of the choice, and its name in the address."""

ENCODER, LANGUAGE = KINDS = ("Text encoder", "Language model")


def choose_kind() -> str:
    """Draw the choice; one of `KINDS`."""
    return frame.section(KINDS, key=SIDE, label="Kind of model")


# -- Training runs of encoders: those in progress, and the latest ---------------------------------


def draw(runs: Sequence[Run]) -> None:
    """The runs in progress, each with its cancel button, or else the outcome of the latest one."""
    # A study in progress shows its own pending runs.
    active = [
        run
        for run in reversed(runs)
        if run.state == RunState.RUNNING or (run.state in UNFINISHED and not run.group)
    ]
    for run in _just_ended(runs, active):
        mention(run)
    # The one that has begun, else the one that runs, else the next one.
    order = sorted(active, key=lambda run: (not run.step, run.state != RunState.RUNNING))
    computing = next(iter(order), None)
    if computing is not None:
        page_runs.follow(
            computing,
            title=encoder_title(computing),
            more=partial(curves_view.encoder, live=True),
        )
    if others := [run for run in active if run is not computing]:
        with st.container(border=True, key="train-queue"):
            _queue({run.id: bool(run.step) for run in others})


def _just_ended(runs: Sequence[Run], active: Sequence[Run]) -> list[Run]:
    """The runs that ended while this session followed them, or else the newest one."""
    followed: set[int] = st.session_state.setdefault("train_followed", set())
    followed.update(run.id for run in active)
    under_way = {run.id for run in active}
    ended = [run for run in runs if run.id in followed and run.id not in under_way]
    newest = next(([run] for run in runs if run.state not in UNFINISHED), [])
    return ended or ([] if active else newest)


@error_messages.fragment(run_every=page_runs.REFRESH_SECONDS)
def _queue(begun: dict[int, bool]) -> None:
    """One line for each of the other runs.

    Args:
        begun: their ids, and whether they had started training when the page was drawn.
    """
    runs = open_project.ask(get_runs, begun)
    if any(run.state not in UNFINISHED or bool(run.step) != begun[run.id] for run in runs):
        st.rerun()
    st.text(
        "Only one training runs at a time on a machine. The others wait in the order they were "
        "requested."
    )
    for run in runs:
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            how = f": step {run.step:,} of {run.total:,}" if run.step else ""
            st.text(f"Run {run.id}: {encoder_title(run)}{how}", width="stretch")
            page_runs.cancel_button(run)


def mention(run: Run) -> None:
    """One line about a run that has ended, with a button to its results."""
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"train-ended-{run.id}"
    ):
        st.text(_in_short(run), width="stretch")
        st.button(
            "Show results" if run.state == RunState.DONE else "Show details",
            key=f"train-show-{run.id}",
            on_click=show_run,
            args=(run.id,),
        )


def _in_short(run: Run) -> str:
    if run.state != RunState.DONE:
        reached = _reached(run)
        way_on = f" You can continue it from step {reached:,}." if reached else ""
        return f"{page_runs.why(run)}{way_on}"
    held_out = run.result.get("held_out", {})
    before, after = (held_out.get(key, {}).get(RANKED) for key in ("before", "after"))
    if before is None or after is None:
        return f"Run {run.id} is done."
    return (
        f"Run {run.id} is done. The model ranks {after:.1%} of the held-out triples correctly; its "
        f"base encoder ranks {before:.1%}."
    )


def stopped(run: Run, *, key: str = SECTION, section: str = TRAIN, alone: bool = True) -> None:
    """A run that stopped early: the reason, and a button to continue it.

    Args:
        key, section: where the run is shown when it continues.
        alone: whether it can continue; a run of a study continues with its study.
    """
    reached = _reached(run)

    def again() -> None:
        page_runs.start_again(run)
        st.session_state[key] = section

    label = f"Continue from step {reached:,}" if reached else "Start again"
    page_runs.stopped(run, again=again if alone else None, label=label)


def _reached(run: Run) -> int:
    """The step from which the run can continue; 0 if it would start from scratch."""
    return checkpoints.step_reached(open_project.settings().data_folder / run.folder)
