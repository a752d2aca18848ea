"""Prompt versions: read one, see it filled in for an anchor, edit a copy."""

from collections.abc import Sequence
from typing import cast

import streamlit as st

from curation.formatting import counted
from curation.generation.examples import Example, from_rows, in_words, role_of
from curation.generation.judging.opinion_calls import example_question
from curation.generation.prompts import (
    JUDGE,
    PromptName,
    example_anchor,
    fill,
    sample_cues,
    types_of,
    written_with,
)
from curation.taxonomy.cues import SPELLING
from curation.taxonomy.surface_check import ROLES, Role
from db.models import PromptVersion
from pages.components.generate import prompt_examples
from pages.components.shared.chat_models import prompt_editor
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import CachedCounts

_NAMES: dict[PromptName, str] = {
    **{role: facts.name for role, facts in ROLES.items()},
    JUDGE: "Second opinions",
}
_PLACE, _EXAMPLE = "generate", "generate_example"


def draw(counts: CachedCounts) -> None:
    """Choose a version to read, preview or copy and edit."""
    role, chosen = prompt_editor.choose(_NAMES, place=_PLACE)
    _facts(chosen, counts)
    prompt_editor.show_message(place=_PLACE)
    columns = st.container(key="columns-prompts", gap="medium")
    with columns.container():
        template = prompt_editor.editor(chosen, role, place=_PLACE)
    with columns.container():
        _preview(template, role, from_rows(chosen.examples))
    if role in ROLES:
        prompt_examples.draw(chosen, role_of(role))


def _facts(chosen: PromptVersion, counts: CachedCounts) -> None:
    """Who wrote this version, and how many variants or opinions it has produced."""
    facts = [prompt_editor.author_of(chosen)]
    if chosen.name != JUDGE and (written := counts.get(written_with)) is not None:
        number = written.get(chosen.id, 0)
        was = "was" if number == 1 else "were"
        used = f"{counted(number, 'variant')} {was} written with this version."
        facts.append(used if number else "This version has not been used yet.")
    if any(facts):
        st.text(" ".join(filter(None, facts)))


def _preview(template: str, role: PromptName, examples: Sequence[Example]) -> None:
    """The prompt as sent, for one anchor with sampled cues or for one variant."""
    checked = prompt_editor.usable(template, role, place=_PLACE)
    if checked is None:
        return
    number = st.session_state.setdefault(_EXAMPLE, 0)
    cues: dict[str, str] = {}
    if role == JUDGE:
        filled = open_project.ask(example_question, checked, open_project.types(), number)
    else:
        example, filled = open_project.ask(example_anchor, number), None
        if example is not None:
            types = types_of(cast(Role, role), open_project.types())
            seed = int(st.session_state.get("generate-seed", 0))
            cues = sample_cues(types, seed=seed, anchor_uid=example.uid)
            ids = [entry.id for entry in types]
            shown = in_words(examples, ids, anchor_uid=example.uid, text=example.text)
            filled = fill(checked, text=example.text, types=types, cues=cues, examples=shown)
    what = "variant" if role == JUDGE else "anchor"
    if filled is None:
        st.text(f"Add {what}s to preview the prompt.")
        return
    prompt_editor.as_sent(filled)
    for cue in cues.values():
        if cue in SPELLING:
            st.text(f'The cue "{SPELLING[cue]}" is stored as "{cue}", as the paper spells it.')
    st.button(f"Show another {what}", key="generate-another", on_click=_next)


def _next() -> None:
    st.session_state[_EXAMPLE] += 1
