"""The prompts in their versions: read, filled in for a real anchor, edited as a copy."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from curation.generation.examples.few_shot import Example, from_rows, in_words
from curation.generation.examples.versions import role_of
from curation.generation.judging.opinion_calls import example_question
from curation.generation.prompts import (
    JUDGE,
    MAX_TEMPLATE,
    PLACES,
    PROMPTS,
    PromptName,
    checked_template,
    draw_cues,
    example_anchor,
    fill,
    needs_prompts,
    prompt_versions,
    save_draft,
    seed_prompts,
    types_of,
    written_with,
)
from curation.plurals import counted
from curation.review.people.reviewers import reviewer_name
from curation.taxonomy.cues import SPELLING
from curation.taxonomy.roles import ROLES
from db.errors import HedgerowError
from db.models import PromptVersion
from pages.components.generate import prompt_examples
from pages.components.shared.formatting import clock
from pages.components.shared.shell import error_messages, open_project, signin
from pages.components.shared.shell.count_cache import CachedCounts

_NAMES: dict[PromptName, str] = {
    **{role: facts.name for role, facts in ROLES.items()},
    JUDGE: "Second opinions",
}
_EXAMPLE, _TOLD = "generate_example", "generate_prompt_told"


def ensure() -> None:
    """Have the prompts that are installed stored, so that there is one to choose."""
    if open_project.ask(needs_prompts):
        open_project.tell(seed_prompts)


def draw(counts: CachedCounts) -> None:
    """Choose a version; read it, see it filled in, edit a copy."""
    role = st.segmented_control(
        "Prompt for",
        list(PROMPTS),
        default=next(iter(ROLES)),
        format_func=lambda role: _NAMES[role],
        key="generate-prompt-of",
        required=True,
        persist_state="session",
    ) or next(iter(ROLES))
    versions = {row.version: row for row in open_project.ask(prompt_versions, role)}
    version = st.selectbox(
        "Version",
        list(versions),
        format_func=lambda number: _named(versions[number]),
        key=f"generate-version-{role}-{len(versions)}",
    )
    chosen = versions[version]
    _facts(chosen, counts)
    if told := st.session_state.pop(_TOLD, ""):
        st.text(told)
    left, right = st.columns(2)
    with left:
        template = _editor(chosen, role)
    with right:
        _preview(template, role, from_rows(chosen.examples))
    if role in ROLES:
        prompt_examples.draw(chosen, role_of(role))


def _named(row: PromptVersion) -> str:
    origin = "as installed" if row.parent_id is None else "edited"
    if row.examples:
        origin += f", {counted(len(row.examples), 'example')}"
    return f"Version {row.version}, {origin}, {clock.local(row.created_at):%Y-%m-%d %H:%M}"


def _facts(chosen: PromptVersion, counts: CachedCounts) -> None:
    """Who edited this version, and how many variants or opinions it has written."""
    facts = []
    if chosen.author_id is not None:
        facts.append(f"Edited by {open_project.ask(reviewer_name, chosen.author_id)}.")
    if chosen.name != JUDGE and (written := counts.get(written_with)) is not None:
        number = written.get(chosen.id, 0)
        facts.append(f"{number:,} variants were written with it." if number else "Not used yet.")
    if facts:
        st.text(" ".join(facts))


def _editor(chosen: PromptVersion, role: PromptName) -> str:
    """The template in a box, whose edited copy becomes a version of its own; what it holds."""
    key = f"generate-template-{chosen.id}"
    template = st.text_area(
        "Template",
        chosen.template,
        height=260,
        key=key,
        max_chars=MAX_TEMPLATE,
        persist_state="session",
        help="Edit it and save the copy as the next version; this one stays. "
        + " ".join(f"{place} is where {what} goes." for place, what in PLACES[role].items()),
    )
    edited = template.strip() != chosen.template
    with st.container(horizontal=True):
        st.button(
            "Save the copy",
            key="generate-save-prompt",
            type="primary",
            disabled=not edited,
            on_click=_save,
            args=(chosen, key),
        )
        st.button(
            "Take the changes back",
            key="generate-undo-prompt",
            disabled=not edited,
            on_click=_undo,
            args=(chosen, key),
        )
    return template


def _save(chosen: PromptVersion, key: str) -> None:
    """Store the draft; one that cannot be used yet stays, and the preview says why."""
    author = signin.reviewer_id()
    with suppress(HedgerowError):
        saved = open_project.tell(save_draft, chosen, st.session_state[key], author_id=author)
        st.session_state[_TOLD] = (
            f"Saved as version {saved.version}."
            if saved.is_newest
            else f"That is version {saved.version} word for word, which can be chosen for a run."
        )
        st.session_state[key] = chosen.template


def _undo(chosen: PromptVersion, key: str) -> None:
    st.session_state[key] = chosen.template


def _preview(template: str, role: PromptName, examples: Sequence[Example]) -> None:
    """The prompt as it is sent, for one anchor with its drawn cues, or for one variant."""
    try:
        checked = checked_template(template, role)
    except HedgerowError as error:
        error_messages.show(str(error), key="generate-preview")
        return
    number = st.session_state.setdefault(_EXAMPLE, 0)
    cues: dict[str, str] = {}
    if role == JUDGE:
        filled = open_project.ask(example_question, checked, open_project.types(), number)
    else:
        example, filled = open_project.ask(example_anchor, number), None
        if example is not None:
            types = types_of(role, open_project.types())
            seed = int(st.session_state.get("generate-seed", 0))
            cues = draw_cues(types, seed=seed, anchor_uid=example.uid)
            ids = [entry.id for entry in types]
            shown = in_words(examples, ids, anchor_uid=example.uid, text=example.text)
            filled = fill(checked, text=example.text, types=types, cues=cues, examples=shown)
    what = "variant" if role == JUDGE else "anchor"
    if filled is None:
        st.text(f"There is no {what} yet to show it filled in for.")
        return
    st.text("As it is sent")
    st.code(filled, language=None, wrap_lines=True)
    for cue in cues.values():
        if cue in SPELLING:
            st.text(f'The paper prints "{SPELLING[cue]}" as "{cue}", and so it is stored.')
    st.button(f"Another {what}", key="generate-another", on_click=_next)


def _next() -> None:
    st.session_state[_EXAMPLE] += 1
