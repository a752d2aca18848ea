"""The prompts in their versions: read, filled in for a real anchor, edited as a copy."""

from typing import cast

import streamlit as st

from curation.generation.judging.opinion_calls import example_question
from curation.generation.prompts import (
    JUDGE,
    PromptName,
    draw_cues,
    example_anchor,
    fill,
    types_of,
    written_with,
)
from curation.taxonomy.cues import SPELLING
from curation.taxonomy.roles import ROLES, Role
from db.models import PromptVersion
from pages.components.shared.chat_models import prompt_editor
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import CachedCounts

_NAMES: dict[PromptName, str] = {
    **{role: facts.name for role, facts in ROLES.items()},
    JUDGE: "Second opinions",
}
_PLACE, _EXAMPLE = "generate", "generate_example"


def draw(counts: CachedCounts) -> None:
    """Choose a version; read it, see it filled in, edit a copy."""
    role, chosen = prompt_editor.choose(_NAMES, place=_PLACE)
    _facts(chosen, counts)
    prompt_editor.told(place=_PLACE)
    left, right = st.columns(2)
    with left:
        template = prompt_editor.editor(chosen, role, place=_PLACE)
    with right:
        _preview(template, role)


def _facts(chosen: PromptVersion, counts: CachedCounts) -> None:
    """Who edited this version, and how many variants or opinions it has written."""
    facts = [prompt_editor.author_of(chosen)]
    if chosen.name != JUDGE and (written := counts.get(written_with)) is not None:
        number = written.get(chosen.id, 0)
        facts.append(f"{number:,} variants were written with it." if number else "Not used yet.")
    if any(facts):
        st.text(" ".join(filter(None, facts)))


def _preview(template: str, role: PromptName) -> None:
    """The prompt as it is sent, for one anchor with its drawn cues, or for one variant."""
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
            cues = draw_cues(types, seed=seed, anchor_uid=example.uid)
            filled = fill(checked, text=example.text, types=types, cues=cues)
    what = "variant" if role == JUDGE else "anchor"
    if filled is None:
        st.text(f"There is no {what} yet to show it filled in for.")
        return
    prompt_editor.as_sent(filled)
    for cue in cues.values():
        if cue in SPELLING:
            st.text(f'The paper prints "{SPELLING[cue]}" as "{cue}", and so it is stored.')
    st.button(f"Another {what}", key="generate-another", on_click=_next)


def _next() -> None:
    st.session_state[_EXAMPLE] += 1
