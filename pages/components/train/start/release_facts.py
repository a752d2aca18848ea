"""What a release holds for trainings, kept between the views: a release never changes."""

import streamlit as st

from pages.components.shared.shell import open_project
from training.data.composition import Composition, composition
from training.recipe.plan import TrainingPlan, plan


@st.cache_data(show_spinner=False)
def plan_of(number: int) -> TrainingPlan:
    """What a training on this release works on; counting a large one takes a second."""
    return open_project.ask(plan, number)


@st.cache_data(show_spinner="Looking through the release.", max_entries=5)
def composition_of(number: int) -> Composition:
    """What the train split of this release consists of."""
    return open_project.ask(composition, number)
