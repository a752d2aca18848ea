"""What a release contains for training, cached: a release never changes."""

import streamlit as st

from pages.components.shared.shell import open_project
from training.data.composition import Composition, composition
from training.recipe.plan import TrainingPlan, plan


@st.cache_data(show_spinner=False)
def plan_of(number: int) -> TrainingPlan:
    """The data for training on this release; counting a large one takes a second."""
    return open_project.ask(plan, number)


@st.cache_data(show_spinner="Reading the release …", max_entries=5)
def composition_of(number: int) -> Composition:
    """The composition of this release's train split."""
    return open_project.ask(composition, number)
