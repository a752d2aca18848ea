"""The preset for the next run: the one that fits the release unless the user chooses another."""

import streamlit as st

from db.errors import HedgerowError
from pages.components.train.start import recipe_editor
from training.recipe.plan import TrainingPlan
from training.recipe.presets import PRESETS, Preset, fitting, preset_of, reason, recipe_for
from training.recipe.yaml_text import parse_recipe


def default(wanted: TrainingPlan) -> Preset:
    """The preset that was chosen, or the one that fits."""
    return PRESETS.get(recipe_editor.chosen_preset()) or fitting(wanted)


def default_text(wanted: TrainingPlan) -> str:
    """Its recipe for this release, as YAML."""
    return recipe_for(default(wanted), wanted).to_yaml()


def draw(wanted: TrainingPlan, text: str) -> None:
    """The choice of a preset, and why this one is selected.

    Args:
        text: the current YAML text of the recipe.
    """
    current = _preset_of(text, wanted)
    own = recipe_editor.own_text() if current else text
    options = [*PRESETS, *([recipe_editor.OWN] if own and not _preset_of(own, wanted) else [])]
    with st.container(horizontal=True, vertical_alignment="center", key="train-preset-row"):
        st.segmented_control(
            "Preset",
            options,
            format_func=lambda key: PRESETS[key].label if key in PRESETS else "Your own",
            key=recipe_editor.widget_key(
                recipe_editor.PRESET, current.id if current else recipe_editor.OWN
            ),
            on_change=recipe_editor.take_up,
            required=True,
            width="content",
            label_visibility="collapsed",
        )
        st.text(_description(current, wanted), width="stretch")


def _preset_of(text: str, wanted: TrainingPlan) -> Preset | None:
    """The preset that equals the text; None for any other text."""
    try:
        return preset_of(parse_recipe(text), wanted)
    except HedgerowError:
        return None


def _description(current: Preset | None, wanted: TrainingPlan) -> str:
    if current is None:
        return "Your own recipe. It differs from every preset."
    if current == fitting(wanted):
        return f"Preset: {current.id}, because {reason(wanted)} to train on. {current.purpose}"
    return f"Preset: {current.id}. {current.purpose}"
