"""Choosing prompt versions for language models."""

import streamlit as st

from curation.generation.prompts import MEASURING, prompt_ids
from pages.components.benchmarks.prompts_section import LABELS
from pages.components.shared.shell import open_project

NEWEST = 0
"""Used for "newest"; None would not be kept between sections."""


def choose() -> dict[str, int]:
    """Draw the boxes; returns the versions other than the newest, by prompt."""
    with st.expander("Prompts for language models", icon=":material/chat:"):
        st.text(
            "These are for chat models, and for language models on this machine. You can read and "
            "edit the prompts in the Prompts section."
        )
        chosen = {}
        for place, name in zip(st.columns(len(MEASURING)), MEASURING, strict=True):
            version = place.selectbox(
                LABELS[name],
                [NEWEST, *open_project.ask(prompt_ids, name)],
                format_func=lambda v: "Newest" if v == NEWEST else f"Version {v}",
                key=f"bench-version-of-{name}",
                persist_state="session",
            )
            if version != NEWEST:
                chosen[str(name)] = int(version)
    return chosen
