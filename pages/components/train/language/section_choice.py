"""The names of the sections for language models, and links to the results of a run."""

import streamlit as st

from db.models import Run
from pages.components.shared.formatting import clock
from pages.components.shared.runs import progress_view
from pages.components.train.language.arms import LABELS
from pages.components.train.section_choice import remember
from training.llm.request import request_of
from training.models.display_names import short_name

SECTION = "part"
"""Key of the section choice, and its name in the URL."""

TRAIN, RESULTS, ARMS, PROVIDER = SECTIONS = ("Train", "Results", "Ablation", "Provider")


def show_run(run_id: int) -> None:
    """Go to the results of a run; for callbacks."""
    st.session_state[SECTION] = RESULTS
    remember(run_id)


def title(run: Run) -> str:
    """The base model, the release and the arm of a run."""
    request = request_of(run)
    return f"{short_name(request.base)} on release {request.release}, {LABELS[request.recipe.arm]}"


def named(run: Run) -> str:
    """The label of a run in a menu: its number, title, date and state."""
    when = f"{clock.local(run.created_at):%Y-%m-%d %H:%M}"
    return f"Run {run.id}: {title(run)}, {when}, {progress_view.STATES[run.state]}"
