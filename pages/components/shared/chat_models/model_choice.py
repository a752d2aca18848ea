"""The provider, the model and its address, the prompt versions, and further settings."""

from typing import Any

import streamlit as st

from curation.generation.prices import prices
from curation.generation.prompts import prompt_ids
from curation.generation.providers.chat.completions import OWN_ADDRESS
from curation.generation.providers.installed import installed_providers
from curation.generation.request import KIND, MAX_CONCURRENCY, OPENAI
from curation.generation.run_report import last_asked, models_used
from curation.taxonomy.surface_check import ROLES, Role
from db.settings import without_login
from pages.components.shared.chat_models import provider_key
from pages.components.shared.chat_models.choice import MAX_SEED
from pages.components.shared.formatting.label import plain
from pages.components.shared.shell import error_messages, open_project
from training.llm.provider.request import finetuned_models

MODEL, ADDRESS = "generate-model", "generate-address"
NEWEST = 0
"""Stands for the newest version, because None would not be kept between sections."""


def draw(roles: tuple[Role, ...]) -> dict[str, Any]:
    """Draw the boxes. Returns their values, as fields of a ``GenerationRequest``."""
    others = installed_providers()
    for number, problem in enumerate(others.problems):
        error_messages.show(problem, key=f"generate-plug-in-{number}")
    labels = {OPENAI: "A language model"}
    labels |= {name: plain(kind.label or name) for name, kind in others.classes.items()}
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
    provider_key.draw(values["base_url"])
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
    if not roles:
        return chosen
    for place, role in zip(st.columns(len(roles)), roles, strict=True):
        versions = open_project.ask(prompt_ids, role)
        if not versions:
            continue
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
    temperature = row.number_input(
        "Temperature",
        0.0,
        2.0,
        1.0,
        0.1,
        key="generate-temperature",
        persist_state="session",
        help="At 0, the model gives its most likely answer. At 1, it samples from its own "
        "distribution, so answers vary.",
    )
    concurrency = row.number_input(
        "Concurrent calls",
        1,
        MAX_CONCURRENCY,
        16,
        key="generate-concurrency",
        persist_state="session",
    )
    attempts = row.number_input(
        "Attempts per call",
        1,
        20,
        5,
        key="generate-attempts",
        persist_state="session",
        help="Maximum number of attempts, including retries after server errors and unusable "
        "answers.",
    )
    tokens = row.number_input(
        "Maximum answer length (tokens)",
        16,
        32_000,
        1000,
        100,
        key="generate-tokens",
        persist_state="session",
    )
    timeout = row.number_input(
        "Timeout (seconds)",
        1,
        3600,
        120,
        key="generate-timeout",
        persist_state="session",
    )
    row.number_input(
        "Seed",
        0,
        MAX_SEED,
        0,
        key="generate-seed",
        persist_state="session",
        help="Determines the cues and the sample. The same seed gives the same cues.",
    )
    structured = st.checkbox(
        "Structured outputs",
        True,
        key="generate-structured",
        persist_state="session",
        help="Requests JSON that follows a fixed schema. If the server refuses, Hedgerow asks for "
        "a numbered list, as in the paper.",
    )
    batch = st.checkbox(
        "Batch (half the price, answers within a day)",
        key="generate-batch",
        persist_state="session",
        help="Uses the provider's Batch API. Trials do not use it and are answered at once.",
    )
    return {
        "temperature": temperature,
        "concurrency": int(concurrency),
        "attempts": int(attempts),
        "max_tokens": int(tokens),
        "timeout": float(timeout),
        "structured": structured,
        "batch": batch,
    }
