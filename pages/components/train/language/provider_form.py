"""The form that starts finetuning at a provider."""

import json
from typing import Any

import streamlit as st

from curation.release.question_pairs import ARMS
from curation.validation import checked
from db.errors import HedgerowError
from pages.components.shared.chat_models import model_choice, provider_key
from pages.components.shared.runs import background
from pages.components.shared.shell import error_messages, open_project, rights, signin
from pages.components.train.language.arms import LABELS, MEANINGS
from training.llm.provider.request import (
    LARGEST_SEED,
    MOST_EPOCHS,
    Plan,
    ProviderRequest,
    plan,
    request_finetuning,
)

_PROVIDERS_OWN = "automatic"


@rights.for_leads("start training runs")
def box(numbers: list[int]) -> None:
    """The release, the model, the estimate, and the button.

    Args:
        numbers: the releases' numbers, at least one, newest first.
    """
    with st.container(border=True, key="llm-provider-box"):
        values = _values(numbers)
        if not values["model"]:
            st.text("Enter a model to see the estimate.")
            return
        try:
            request = checked(ProviderRequest, values)
            found = _plan(request.model_dump_json(), open_project.settings().openai_base_url)
        except HedgerowError as error:
            st.text(str(error))
            return
        for line in found.sentences():
            st.text(line)
        if lacks_key := provider_key.lacks(request.base_url):
            st.text("OpenAI needs a key. Enter one above, or enter the address of another server.")
        # Not a callback, which would use the values from the last time the page was drawn.
        if st.button(
            "Send and start",
            key="llm-provider-start",
            type="primary",
            icon=":material/cloud_upload:",
            disabled=lacks_key,
            help="Sends the question pairs to the provider and starts a job there. You can close "
            "the browser.",
        ):
            _start(request)


def _values(numbers: list[int]) -> dict[str, Any]:
    """The boxes' values for a `ProviderRequest`."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        release = st.selectbox(
            "Release", numbers, key="llm-provider-release", persist_state="session", width=90
        )
        arm = st.selectbox(
            "Questions about",
            list(ARMS),
            format_func=lambda name: LABELS[name],
            key="llm-provider-arm",
            persist_state="session",
        )
    st.caption(MEANINGS[arm])
    chosen = model_choice.model()
    provider_key.draw(chosen["base_url"], place="-llm")
    with (
        st.expander("Epochs and seed", icon=":material/tune:", key="llm-provider-settings"),
        st.container(horizontal=True),
    ):
        epochs = _number("Epochs", "epochs", 1, MOST_EPOCHS)
        seed = _number("Seed", "seed", 0, LARGEST_SEED)
    return {
        "model": chosen["model"],
        "base_url": chosen["base_url"],
        "release": release,
        "arm": arm,
        "epochs": epochs,
        "seed": seed,
    }


def _number(label: str, name: str, least: int, most: int) -> int | None:
    found = st.number_input(
        label,
        least,
        most,
        value=None,
        placeholder=_PROVIDERS_OWN,
        key=f"llm-provider-{name}",
        persist_state="session",
    )
    return None if found is None else int(found)


@st.cache_data(show_spinner=False, max_entries=20)
def _plan(request: str, address: str) -> Plan:
    """A release never changes. Whether a price is known depends on the address in the settings."""
    asked = ProviderRequest(**json.loads(request))
    return open_project.ask(plan, open_project.settings(), asked)


def _start(request: ProviderRequest) -> None:
    """Store the run and start its process."""
    try:
        run = open_project.tell(
            request_finetuning,
            open_project.settings(),
            request,
            requested_by=signin.reviewer_id(),
        )
        background.start_process_of(run, provider_key.environment(request.base_url))
    except HedgerowError as error:
        error_messages.show(str(error), key="llm-provider")
    else:
        st.rerun()
