"""The choice of a chat model: provider, address, prompt versions, settings, and the provider's key.

A typed key is only kept in the session, and a run's process gets it through its environment. It is
stored nowhere, never sent back to the browser, and sent only to the address that it was typed in
for. The environment's key is sent to the environment's address and to OpenAI.
"""

from typing import Any, NamedTuple

import streamlit as st

from curation.generation.prices import prices
from curation.generation.prompts import prompt_ids
from curation.generation.providers.chat.completions import (
    ADDRESS_VARIABLE,
    KEY_VARIABLE,
    OWN_ADDRESS,
    address_of,
    comparable,
    is_own,
    key_for,
)
from curation.generation.providers.installed import installed_providers
from curation.generation.request import KIND, MAX_CONCURRENCY, OPENAI, AnchorSelection
from curation.generation.run_report import last_asked, models_used
from curation.taxonomy.surface_check import ROLES, Role
from db.settings import without_login
from pages.components.shared import formatting, typed_secrets
from pages.components.shared.shell import error_messages, open_project
from training.llm.provider_request import finetuned_models

AS_ITS_FILES_SAY = "as in the model's files"
"""Stands for the architecture that a model's files name."""

ANY_MODEL = (
    "Choose a model of this project. For any other, type the folder of a sentence-transformers "
    "model or its name on the model hub and press Enter."
)
"""Help of a box for a model."""

MODEL, ADDRESS = "generate-model", "generate-address"
NEWEST = 0
"""Stands for the newest version, because None would not be kept between sections."""


def draw(roles: tuple[Role, ...]) -> dict[str, Any]:
    """Draw the boxes. Returns their values, as fields of a ``GenerationRequest``."""
    others = installed_providers()
    for number, problem in enumerate(others.problems):
        error_messages.show(problem, key=f"generate-plug-in-{number}")
    labels = {OPENAI: "A language model"}
    labels |= {name: formatting.plain(kind.label or name) for name, kind in others.classes.items()}
    provider = (
        st.segmented_control(
            "Writer",
            list(labels),
            format_func=lambda key: labels.get(key, key),
            default=OPENAI,
            key="generate-provider",
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )
        or OPENAI
    )
    if kind := others.classes.get(provider):
        st.text(kind.purpose)
        return {"provider": provider, "prompts": {}}
    values = model() | {"prompts": _prompts(roles)}
    key_field(values["base_url"])
    with st.expander("Temperature, concurrency, batches", icon=":material/tune:"):
        return values | _fine_points()


def model() -> dict[str, Any]:
    """Draw the boxes for the model and its address. Returns both, and the provider."""
    known = [
        *open_project.ask(models_used, KIND),
        *open_project.ask(finetuned_models),
        *open_project.ask(prices),
    ]
    last = open_project.ask(last_asked, KIND)
    if last[0] and MODEL not in st.session_state and ADDRESS not in st.session_state:
        st.session_state[MODEL], st.session_state[ADDRESS] = last
    left, right = st.columns(2)
    name = left.selectbox(
        "Model",
        list(dict.fromkeys(known)),
        index=None,
        key=MODEL,
        placeholder="Choose or type",
        accept_new_options=True,
        persist_state="session",
        help="The model's name on the server.",
    )
    address = right.text_input(
        "Address",
        key=ADDRESS,
        max_chars=500,
        persist_state="session",
        placeholder=without_login(open_project.settings().openai_base_url) or OWN_ADDRESS,
        help="The address of a server with an OpenAI-compatible API, such as "
        "http://127.0.0.1:8000/v1 for vLLM. Leave it empty to use the address shown in grey. See "
        "docs/generation.md.",
    )
    return {"provider": OPENAI, "model": (name or "").strip(), "base_url": address.strip()}


def _prompts(roles: tuple[Role, ...]) -> dict[Role, int]:
    """The chosen prompt version of each role; the newest by default."""
    chosen: dict[Role, int] = {}
    for place, role in zip(st.columns(len(roles)) if roles else (), roles, strict=True):
        if versions := open_project.ask(prompt_ids, role):
            version = place.selectbox(
                f"Prompt for {ROLES[role].name.lower()}",
                [NEWEST, *versions],
                format_func=lambda v: "The newest version" if v == NEWEST else f"Version {v}",
                key=f"generate-prompt-{role}",
                persist_state="session",
            )
            chosen[role] = versions[max(versions) if version == NEWEST else version]
    return chosen


def _fine_points() -> dict[str, Any]:
    row = st.container(horizontal=True, vertical_alignment="bottom")
    values = {
        "temperature": row.number_input(
            "Temperature",
            0.0,
            2.0,
            1.0,
            0.1,
            key="generate-temperature",
            persist_state="session",
            help="At 0, the model gives its most likely answer. At 1, it samples from its own "
            "distribution, so answers vary.",
        ),
        "concurrency": int(
            row.number_input(
                "Concurrent calls",
                1,
                MAX_CONCURRENCY,
                16,
                key="generate-concurrency",
                persist_state="session",
            )
        ),
        "attempts": int(
            row.number_input(
                "Attempts per call",
                1,
                20,
                5,
                key="generate-attempts",
                persist_state="session",
                help="Maximum number of attempts, including retries after server errors and "
                "unusable answers.",
            )
        ),
        "max_tokens": int(
            row.number_input(
                "Maximum answer length (tokens)",
                16,
                32_000,
                1000,
                100,
                key="generate-tokens",
                persist_state="session",
            )
        ),
        "timeout": float(
            row.number_input(
                "Timeout (seconds)",
                1,
                3600,
                120,
                key="generate-timeout",
                persist_state="session",
            )
        ),
    }
    row.number_input(
        "Seed",
        0,
        MAX_SEED,
        0,
        key="generate-seed",
        persist_state="session",
        help="Determines the cues and the sample. The same seed gives the same cues.",
    )
    return values | {
        "structured": st.checkbox(
            "Structured outputs",
            True,
            key="generate-structured",
            persist_state="session",
            help="Requests JSON that follows a fixed schema. If the server refuses, Hedgerow asks "
            "for a numbered list, as in the paper.",
        ),
        "batch": st.checkbox(
            "Batch (half the price, answers within a day)",
            key="generate-batch",
            persist_state="session",
            help="Uses the provider's Batch API. Trials do not use it and are answered at once.",
        ),
    }


# -- The calls to a chat model, and the anchors that they are for ---------------------------------


MAX_SEED = 2**31 - 1


class CallChoice(NamedTuple):
    """The anchors, the calls, and the seed of the sample and the cues."""

    selection: AnchorSelection
    roles: tuple[Role, ...]
    seed: int


# -- provider key ---------------------------------------------------------------------------------


def key_environment(base_url: str) -> dict[str, str]:
    """Environment variables for a run's process that sends requests to this address."""
    key = typed_secrets.typed(_place(base_url))
    if not key:
        return {}
    return {KEY_VARIABLE: key} | ({ADDRESS_VARIABLE: base_url} if base_url else {})


def has_key(base_url: str) -> bool:
    """Whether there is a key for this address."""
    return bool(typed_secrets.typed(_place(base_url)) or _of_the_environment(base_url))


def lacks_key(base_url: str) -> bool:
    """Whether calls to this address go to OpenAI itself, but there is no key for them."""
    return is_own(address_of(base_url, open_project.settings())) and not has_key(base_url)


def key_field(base_url: str, place: str = "") -> None:
    """Show whether there is a key for an address, with a box to enter one or a button to remove it.

    Args:
        place: distinguishes these boxes from others on the same page.
    """
    if typed_secrets.entered(
        _place(base_url),
        "API key: entered for this session and this address.",
        key=f"generate-key-forget{place}",
    ):
        return
    if _of_the_environment(base_url):
        st.text(f"API key: set in the environment ({KEY_VARIABLE}).")
        return
    typed_secrets.box(
        "API key, for this session only",
        _place(base_url),
        key=f"generate-key{place}",
        placeholder="" if lacks_key(base_url) else "Usually not needed for your own server",
        help=f"To set it for all sessions, use {KEY_VARIABLE} in the environment or in .env. It is "
        "never stored in the database or a log, and is sent only to this address.",
    )
    if open_project.settings().openai_api_key.get_secret_value():
        own = without_login(address_of("", open_project.settings()))
        st.text(f"The key in the environment is for {own}; it is not sent to another address.")


def _place(base_url: str) -> str:
    """The name of the typed key for this address."""
    return f"key-{comparable(address_of(base_url, open_project.settings()))}"


def _of_the_environment(base_url: str) -> bool:
    return bool(key_for(base_url, open_project.settings()).get_secret_value())
