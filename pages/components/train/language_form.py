"""The form that starts finetuning a language model, with a field per key of its recipe."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

import streamlit as st

from curation.formatting import counted, duration
from curation.release.question_pairs import Arm
from curation.validation import checked
from db.errors import HedgerowError
from pages.components.shared import page_runs
from pages.components.shared.shell import current_user, error_messages, open_project
from training.encoder_run.training_run import DEFAULT_SEED
from training.finetune.finetuning import LARGEST_SEED
from training.llm.base import PAPER_BASE, clean_base
from training.llm.recipe import LanguageRecipe, Schedule
from training.llm.request import (
    FINETUNE_LANGUAGE_MODEL,
    FinetuneLanguageModel,
    Forecast,
    LanguageTraining,
    forecast,
    request_of,
)
from training.models.display_names import choice_names
from training.models.finetuned import list_language_finetunings
from training.studies.language_study import COMPARE_ARMS

PLANNED_SECONDS = 60.0
"""Seconds for which an estimate is cached: counting the pairs of a large release takes a second."""

_BASE, _RELEASE, _MERGE, _PROBLEM = "llm-base", "llm-release", "llm-merge", "llm_problem"


@current_user.for_leads("start training runs")
def box(numbers: list[int], *, busy: bool) -> None:
    """The model, the release, the recipe and the buttons.

    Args:
        numbers: the releases' numbers, at least one, newest first.
        busy: whether another run is in progress; the next one waits for it.
    """
    with st.container(border=True, key="llm-start-box"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            earlier = (request_of(run).base for run in open_project.ask(list_language_finetunings))
            bases = list(dict.fromkeys([*earlier, PAPER_BASE]))
            labels = choice_names(bases)
            st.selectbox(
                "Base model",
                bases,
                format_func=lambda name: labels.get(name, name),
                key=_BASE,
                accept_new_options=True,
                help="Type the folder of a causal language model, or its name on the model hub, "
                "and press Enter. The weights must be in safetensors files.",
                persist_state="session",
                width=460,
            )
            st.selectbox("Release", numbers, key=_RELEASE, persist_state="session", width=120)
            arm()
        st.caption(ARM_MEANINGS[st.session_state[ARM]])
        with st.expander("Recipe and seed", icon=":material/tune:", key="llm-settings"):
            recipe_fields()
        st.toggle(
            "Save the merged model",
            key=_MERGE,
            persist_state="session",
            help="Also saves the whole model with the adapter merged into its weights. It takes as "
            "much disk space as the base model.",
        )
        summary, able = _plan_text(busy=busy)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Finetune",
                key="llm-start",
                type="primary",
                icon=":material/model_training:",
                disabled=not able,
                on_click=_start,
            )
            st.button(
                "Run the ablation",
                key="llm-start-arms",
                icon=":material/science:",
                disabled=not able,
                on_click=_start_arms,
                help="Finetunes the model three times with the same recipe: on all of the paper's "
                "types, on negation only, and on hedging only (the paper's Table 3). This takes "
                "three times as long. A run without question pairs in the release is skipped; "
                "*Ablation* says which and why.",
            )
            st.text(summary, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _plan_text(*, busy: bool) -> tuple[str, bool]:
    """What the button will do, or why it can't; and whether it can."""
    try:
        recipe, base = filled_recipe(), clean_base(st.session_state[_BASE] or "")
        found = _forecast(recipe.model_dump_json(), base, st.session_state[_RELEASE])
    except HedgerowError as error:
        return str(error), False
    sampled = "" if found.sampled == found.pairs else f", sampled from {found.pairs:,},"
    wait = " This run starts when the current one has ended." if busy else ""
    return (
        f"Trains on {counted(found.sampled, 'question pair')}{sampled} and evaluates on "
        f"{found.measured:,} before training and after each epoch. {_duration(found)}{wait}"
    ), True


def _duration(found: Forecast) -> str:
    steps = counted(found.steps, "step")
    if found.seconds is None:
        return f"This is {steps}. There is no time estimate before the first run with this model."
    took = duration(found.seconds)
    return f"This is {steps} and takes {took}, judging by run {found.by_run}."


@st.cache_data(show_spinner=False, ttl=PLANNED_SECONDS, max_entries=20)
def _forecast(recipe: str, base: str, release_number: int) -> Forecast:
    return open_project.ask(
        forecast,
        LanguageRecipe.model_validate_json(recipe),
        base=base,
        release_number=release_number,
    )


def _asked() -> dict[str, Any]:
    """The current values of the boxes; the page may not have been redrawn since the last change."""
    state = st.session_state
    return {
        "base": state[_BASE] or "",
        "release": state[_RELEASE],
        "recipe": filled_recipe(),
        "seed": int(state[SEED]),
    }


def _start() -> None:
    """Store the run and start its process; a problem is shown below the buttons."""
    with error_messages.kept_for(_PROBLEM):
        merge = bool(st.session_state.get(_MERGE))
        page_runs.begin(FINETUNE_LANGUAGE_MODEL, FinetuneLanguageModel(merge=merge, **_asked()))


def _start_arms() -> None:
    """The same for one run per arm."""
    with error_messages.kept_for(_PROBLEM):
        page_runs.begin(COMPARE_ARMS, LanguageTraining(**_asked()))


# -- The fields of a language model's recipe, one per key -----------------------------------------


ARM = "llm-arm"

_DEFAULT = LanguageRecipe()

_LISTS = ("targets", "modules_to_save")
"""Names separated by commas."""

SEED = "llm-seed"


def meaning(name: str) -> str:
    """The meaning of a recipe key."""
    return (LanguageRecipe.model_fields[name].description or "").replace("\n", " ")


def recipe_fields() -> None:
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
    if name == "schedule":
        shown: dict[str, Any] = {"index": get_args(Schedule).index(value)}
    else:
        shown = {"value": ",".join(value) if name in _LISTS else value}
    return shown | {
        "key": _key(name),
        "persist_state": "session",
        "help": meaning(name),
    }


def arm() -> None:
    """The choice of the arm."""
    st.selectbox(
        "Questions about",
        list(ARM_LABELS),
        format_func=lambda name: ARM_LABELS[name],
        key=ARM,
        persist_state="session",
        help="“Only negation” and “only hedging” use only the negations or only the hedges "
        "among the paper's six types, as in its Table 3.",
    )


def filled_recipe() -> LanguageRecipe:
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


# -- The labels of the arms, and what each asks about ---------------------------------------------


ARM_LABELS: Mapping[Arm, str] = MappingProxyType(
    {
        "both": "negations and hedges of any type",
        "paper": "the paper's six types",
        "negation": "only negation",
        "hedging": "only hedging",
    }
)

ARM_MEANINGS: Mapping[Arm, str] = MappingProxyType(
    {
        "both": "Each negation of an anchor becomes a question with the answer Yes; each hedge or "
        "paraphrase becomes one with the answer No.",
        "paper": "The paper's four types of negation have the answer Yes, and its two types of "
        "hedge have the answer No.",
        "negation": "The paper's four types of negation have the answer Yes; the original "
        "entailment, or another paraphrase, has the answer No. There are no questions about "
        "hedges.",
        "hedging": "The original contradiction has the answer Yes, and the paper's two types of "
        "hedge have the answer No. There are no questions about the four types of negation.",
    }
)
