"""The form that starts finetuning a language model."""

from typing import Any

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.shared.runs import background, progress_view
from pages.components.shared.shell import error_messages, open_project, rights, signin
from pages.components.train.language import recipe_fields
from pages.components.train.language.arms import MEANINGS
from training.llm.base import PAPER_BASE, clean_base
from training.llm.forecast import Forecast, forecast
from training.llm.recipe import LanguageRecipe
from training.llm.request import (
    list_language_finetunings,
    request_language_finetuning,
    request_of,
)
from training.llm.study import request_language_study
from training.models.display_names import choice_names

PLANNED_SECONDS = 60.0
"""Seconds for which an estimate is cached: counting the pairs of a large release takes a second."""

_BASE, _RELEASE, _MERGE, _PROBLEM = "llm-base", "llm-release", "llm-merge", "llm_problem"

_BASE_HELP = (
    "Type the folder of a causal language model, or its name on the model hub, and press "
    "Enter. The weights must be in safetensors files."
)

_MERGE_HELP = (
    "Also saves the whole model with the adapter merged into its weights. It takes as much "
    "disk space as the base model."
)


@rights.for_leads("start training runs")
def box(numbers: list[int], *, busy: bool) -> None:
    """The model, the release, the recipe and the buttons.

    Args:
        numbers: the releases' numbers, at least one, newest first.
        busy: whether another run is in progress; the next one waits for it.
    """
    with st.container(border=True, key="llm-start-box"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            bases = _bases()
            labels = choice_names(bases)
            st.selectbox(
                "Base model",
                bases,
                format_func=lambda name: labels.get(name, name),
                key=_BASE,
                accept_new_options=True,
                help=_BASE_HELP,
                persist_state="session",
                width=460,
            )
            st.selectbox("Release", numbers, key=_RELEASE, persist_state="session", width=120)
            recipe_fields.arm()
        st.caption(MEANINGS[st.session_state[recipe_fields.ARM]])
        with st.expander("Recipe and seed", icon=":material/tune:", key="llm-settings"):
            recipe_fields.draw()
        st.toggle("Save the merged model", key=_MERGE, persist_state="session", help=_MERGE_HELP)
        summary, able = _plan_text(busy=busy)
        with st.container(horizontal=True, vertical_alignment="center"):
            _button("Finetune", "llm-start", _start, able=able, icon="model_training", primary=True)
            _button("Run the ablation", "llm-start-arms", _start_arms, able=able, icon="science")
            st.text(summary, width="stretch")
        error_messages.show_kept(_PROBLEM)


def _button(
    label: str, key: str, start: Any, *, able: bool, icon: str, primary: bool = False
) -> None:
    st.button(
        label,
        key=key,
        type="primary" if primary else "secondary",
        icon=f":material/{icon}:",
        disabled=not able,
        on_click=start,
        help=None
        if primary
        else "Finetunes the model three times with the same recipe: on all of the paper's "
        "types, on negation only, and on hedging only (the paper's Table 3). This takes three "
        "times as long. A run without question pairs in the release is skipped; *Ablation* says "
        "which and why.",
    )


def _bases() -> list[str]:
    """Base models of earlier runs, and the paper's."""
    earlier = [request_of(run).base for run in open_project.ask(list_language_finetunings)]
    return list(dict.fromkeys([*earlier, PAPER_BASE]))


def _plan_text(*, busy: bool) -> tuple[str, bool]:
    """What the button will do, or why it can't; and whether it can."""
    try:
        recipe, base = recipe_fields.recipe(), clean_base(st.session_state[_BASE] or "")
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
    took = progress_view.duration(found.seconds)
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
        "release_number": state[_RELEASE],
        "recipe": recipe_fields.recipe(),
        "seed": int(state[recipe_fields.SEED]),
        "requested_by": signin.reviewer_id(),
    }


def _start() -> None:
    """Store the run and start its process; a problem is shown below the buttons."""
    with error_messages.kept_for(_PROBLEM):
        merge = bool(st.session_state.get(_MERGE))
        run = open_project.tell(request_language_finetuning, merge=merge, **_asked())
        background.start_process_of(run)


def _start_arms() -> None:
    """The same for one run per arm."""
    with error_messages.kept_for(_PROBLEM):
        run = open_project.tell(request_language_study, **_asked())
        background.start_process_of(run)
