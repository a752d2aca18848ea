"""The kinds of model and the sections of the Train page, and links to the results of a run."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from db.models import Run, RunState
from pages.components.shared import formatting, page_runs
from pages.components.shared.shell import frame
from training.models.display_names import short_name

SECTION = "step"
"""Key of the section choice, and its name in the URL."""

TRAIN, RESULTS, STUDIES, RUNS, NEVIR = SECTIONS = ("Train", "Results", "Studies", "Runs", "NevIR")

RUN = "run"
"""Name of the chosen run in the URL."""

_CHOSEN, _WRITTEN = "train_run", "train_run_in_address"


def show_run(run_id: int) -> None:
    """Go to the results of a run; for callbacks."""
    st.session_state[SECTION] = RESULTS
    remember(run_id)


def remember(run_id: int) -> None:
    """Choose this run wherever results are shown."""
    st.session_state[_CHOSEN] = run_id


def choose_run(by_id: Mapping[int, Run], *, named: Callable[[Run], str] | None = None) -> Run:
    """Draw the choice of a run whose results to show. Returns the chosen run.

    The default is the run in the URL, the run last chosen in this session, or the newest run, if
    possible a finished one.

    Args:
        by_id: at least one run, the newest first.
        named: returns the label of a run; by default that of an encoder's training run.
    """
    call = named or _named
    key = f"train-run-{max(by_id)}"  # a new key when the choices change
    wanted = _wanted(by_id)
    if st.session_state.get(key) != wanted:
        st.session_state[key] = wanted
    names = {run_id: call(run) for run_id, run in by_id.items()}
    chosen: int = st.selectbox(
        "Run",
        list(by_id),
        format_func=lambda run_id: names[run_id],
        key=key,
        on_change=_take,
        args=(key,),
    )
    st.session_state[_CHOSEN] = chosen
    _into_address(str(chosen))
    return by_id[chosen]


def _take(key: str) -> None:
    st.session_state[_CHOSEN] = st.session_state[key]


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


def _into_address(run_id: str) -> None:
    st.session_state[_WRITTEN] = run_id
    if st.query_params.get(RUN) != run_id:
        st.query_params[RUN] = run_id


def leave_results() -> None:
    """Remove the run from the URL where no run is chosen."""
    st.session_state.pop(_WRITTEN, None)
    if RUN in st.query_params:
        del st.query_params[RUN]


def title(run: Run) -> str:
    """The base encoder and the release of a training run, as a label for a menu."""
    recipe: Mapping[str, Any] = run.parameters["recipe"]
    return f"{short_name(recipe['base_encoder'])} on release {run.parameters['release']}"


def _named(run: Run) -> str:
    """A run's number, what it trained, when, and its state."""
    when = f"{formatting.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title(run)}, {when}, {page_runs.STATES[run.state]}"


# -- The kind of model that the Train page shows: a text encoder or a language model --------------


SIDE = "kind"
"""Key of the choice, and its name in the address."""

ENCODER, LANGUAGE = KINDS = ("Text encoder", "Language model")


def choose_kind() -> str:
    """Draw the choice; one of `KINDS`."""
    return frame.section(KINDS, key=SIDE, label="Kind of model")
