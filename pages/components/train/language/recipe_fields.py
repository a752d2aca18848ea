"""The fields of a language model's recipe, one per key."""

from typing import Any, get_args

import streamlit as st

from curation.validation import checked
from pages.components.train.language.arms import LABELS
from training.finetune.fitting import LARGEST_SEED
from training.llm.recipe import LanguageRecipe, Schedule
from training.runs.trainings import DEFAULT_SEED

ARM = "llm-arm"

_DEFAULT = LanguageRecipe()

_LISTS = ("targets", "modules_to_save")
"""Names separated by commas."""

SEED = "llm-seed"


def meaning(name: str) -> str:
    """The meaning of a recipe key."""
    return (LanguageRecipe.model_fields[name].description or "").replace("\n", " ")


def draw() -> None:
    """All fields but the arm, which is next to the model."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="llm-fields-steps"):
        st.number_input("Epochs", step=1.0, format="%g", **_shared("epochs"))
        st.number_input("Maximum pairs", step=1, placeholder="all", **_shared("max_pairs"))
        st.number_input("Batch size", **_shared("batch_size"))
        st.number_input("Gradient accumulation steps", **_shared("gradient_accumulation"))
        st.number_input("Maximum length of a pair (tokens)", **_shared("max_length"))
    with st.container(horizontal=True, key="llm-fields-rate"):
        st.number_input("Learning rate", step=1e-5, format="%g", **_shared("learning_rate"))
        st.selectbox("Schedule", get_args(Schedule), **_shared("schedule"))
        st.number_input("Warm-up", step=0.01, format="%g", **_shared("warmup"))
        st.number_input(
            "Seed",
            0,
            LARGEST_SEED,
            DEFAULT_SEED,
            key=SEED,
            persist_state="session",
            help="Determines the sample and order of the pairs, and the dropout.",
        )
    with st.container(horizontal=True, key="llm-fields-adapter"):
        st.number_input("Rank", **_shared("rank"))
        st.number_input("Alpha", **_shared("alpha"))
        st.number_input("Dropout", step=0.01, format="%g", **_shared("dropout"))
    st.text_input("Target modules", **_shared("targets"))
    st.text_input("Fully trained modules", placeholder="none", **_shared("modules_to_save"))
    with st.container(horizontal=True, key="llm-fields-ways"):
        st.toggle("Gradient checkpointing", **_shared("gradient_checkpointing"))
        st.toggle("4-bit quantization", **_shared("four_bit"))
        st.toggle("Chat template", **_shared("chat_template"))


def _shared(name: str) -> dict[str, Any]:
    value = getattr(_DEFAULT, name)
    return {
        "value" if name != "schedule" else "index": _shown(name, value),
        "key": _key(name),
        "persist_state": "session",
        "help": meaning(name),
    }


def _shown(name: str, value: Any) -> Any:
    if name in _LISTS:
        return ",".join(value)
    return get_args(Schedule).index(value) if name == "schedule" else value


def arm() -> None:
    """The choice of the arm."""
    st.selectbox(
        "Questions about",
        list(LABELS),
        format_func=lambda name: LABELS[name],
        key=ARM,
        persist_state="session",
        help="“Only negation” and “only hedging” use only the negations or only the hedges "
        "among the paper's six types, as in its Table 3.",
    )


def recipe() -> LanguageRecipe:
    """The recipe with the current values of the boxes.

    Raises:
        HedgerowError: a value is wrong.
    """
    state = st.session_state
    given = {name: state[_key(name)] for name in LanguageRecipe.model_fields if _key(name) in state}
    return checked(LanguageRecipe, given | {"arm": state[ARM]})


def _key(name: str) -> str:
    """Widget key for a field."""
    return f"llm-recipe-{name}"
