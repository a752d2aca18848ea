"""Train: finetune an encoder with one click, follow it, and see what it changed."""

import streamlit as st

from db.engine import reading
from db.models import Run, RunState
from db.runs import UNFINISHED, list_runs
from pages.components import (
    charts,
    clock,
    frame,
    plot,
    project,
    run_view,
    train_result,
    train_start,
)
from training.figures import loss_curve
from training.plan import KIND

SHOWN_RUNS = 50
_FOLLOWED, _CHOSEN = "train_followed", "train-chosen"


def _runs() -> list[Run]:
    with reading(project.engine()) as session:
        return list_runs(session, kind=KIND, limit=SHOWN_RUNS)


def _curve(run: Run) -> None:
    """The loss so far; it needs two points to be a curve."""
    with reading(project.engine()) as session:
        points = loss_curve(session, run)
    if len(points) > 1:
        dark = st.context.theme.type == "dark"
        plot.chart(charts.loss(points, dark=dark), alt="Training loss by step")


def _title(run: Run) -> str:
    """What a run trained, for people to choose by."""
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    base = run.parameters["recipe"]["base_encoder"]
    return f"{base} on release {run.parameters['release']}, {when}"


def _earlier(runs: list[Run], *, busy: bool) -> None:
    """What came out of a run that has ended; the newest, unless another is chosen."""
    names = {run.id: f"Run {run.id}: {_title(run)}, {run_view.STATES[run.state]}" for run in runs}
    by_id = {run.id: run for run in runs}
    if st.session_state.get(_FOLLOWED) in by_id:  # it has just ended: show what came out
        st.session_state[_CHOSEN] = st.session_state.pop(_FOLLOWED)
    chosen = st.selectbox(
        "Results of", list(by_id), format_func=lambda key: names[key], key=_CHOSEN
    )  # fmt: skip
    run = by_id[chosen]
    if run.state == RunState.DONE:
        train_result.show(run)
        return
    again = None if busy else lambda: train_start.start_again(run)
    run_view.stopped(run, again=again)
    _curve(run)


frame.begin(
    "Train", "Finetune a text encoder on what was accepted, and see what it makes of a “not”."
)
found = _runs()
active = next((run for run in found if run.state in UNFINISHED), None)
if active is None:
    train_start.box()
else:
    st.session_state[_FOLLOWED] = active.id
    run_view.follow(active, title=_title(active), more=_curve)
train_start.probes()
if ended := [run for run in found if run.state not in UNFINISHED]:
    _earlier(ended, busy=active is not None)
