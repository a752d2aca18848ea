"""Training runs in progress, the latest one, and those that stopped early."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from db.models import Run, RunState
from db.runs import UNFINISHED, get_runs
from pages.components.shared import page_runs
from pages.components.shared.shell import error_messages, open_project
from pages.components.train import curves_view, section_choice
from training.evaluation.held_out import RANKED
from training.finetune import checkpoints

_FOLLOWED = "train_followed"
_PROBLEM = "train_again_problem"


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
    computing = next((run for run in active if run.step), None)
    computing = computing or next((run for run in active if run.state == RunState.RUNNING), None)
    computing = computing or next(iter(active), None)
    if computing is not None:
        page_runs.follow(
            computing,
            title=section_choice.title(computing),
            more=partial(curves_view.encoder, live=True),
        )
    if others := [run for run in active if run is not computing]:
        with st.container(border=True, key="train-queue"):
            _queue({run.id: bool(run.step) for run in others})
    show_problem()


def _just_ended(runs: Sequence[Run], active: Sequence[Run]) -> list[Run]:
    """The runs that ended while this session followed them, or else the newest one."""
    followed: set[int] = st.session_state.setdefault(_FOLLOWED, set())
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
            st.text(f"Run {run.id}: {section_choice.title(run)}{how}", width="stretch")
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
            on_click=section_choice.show_run,
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


def stopped(run: Run) -> None:
    """A run that stopped early: the reason, and a button to continue it."""
    reached = _reached(run)
    label = f"Continue from step {reached:,}" if reached else "Start again"
    page_runs.stopped(run, again=lambda: _again(run), label=label)
    show_problem()


def _reached(run: Run) -> int:
    """The step from which the run can continue; 0 if it would start from scratch."""
    return checkpoints.step_reached(open_project.settings().data_folder / run.folder)


def _again(run: Run) -> None:
    st.session_state[section_choice.SECTION] = section_choice.TRAIN
    with error_messages.kept_for(_PROBLEM):
        page_runs.start_again(run)


def show_problem() -> None:
    """Show once why a run could not be restarted."""
    error_messages.show_kept(_PROBLEM)
