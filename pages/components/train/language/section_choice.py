"""The names of the sections for language models, and links to the results of a run."""

import streamlit as st

from db.models import Run
from pages.components.shared.formatting import clock
from pages.components.shared.runs import progress_view
from pages.components.train.language.arms import LABELS
from pages.components.train.section_choice import remember
from training.llm.request import request_of

SECTION = "part"
"""Key of the section choice, and its name in the URL."""

TRAIN, RESULTS, ARMS, PROVIDER = SECTIONS = ("Train", "Results", "Arms", "At a provider")


def show_run(run_id: int) -> None:
    """Go to the results of a run; for callbacks."""
    st.session_state[SECTION] = RESULTS
    remember(run_id)


def title(run: Run) -> str:
    """What a run finetunes; contains the name of a model."""
    request = request_of(run)
    return f"{request.base} on release {request.release}, {LABELS[request.recipe.arm]}"


def named(run: Run) -> str:
    """A run's number, what it finetunes, when, and its state."""
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title(run)}, {when}, {progress_view.STATES[run.state]}"
