"""Prompt versions: read one, see it filled in for an anchor, edit a copy, choose its examples."""

from collections.abc import Sequence
from typing import cast

import streamlit as st

from curation.formatting import counted
from curation.generation.examples import (
    MOST,
    Example,
    choose_examples,
    from_rows,
    in_words,
    role_of,
    save_with_examples,
)
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
from db.errors import HedgerowError
from db.models import PromptVersion
from pages.components.shared import model_choice, prompt_editor
from pages.components.shared.shell import count_cache, current_user, error_messages, open_project

_NAMES: dict[PromptName, str] = {
    **{role: facts.name for role, facts in ROLES.items()},
    JUDGE: "Second opinions",
}
_PLACE, _EXAMPLE = "generate", "generate_example"


def draw(counts: count_cache.CachedCounts) -> None:
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
        prompt_examples(chosen, role_of(role))


def _facts(chosen: PromptVersion, counts: count_cache.CachedCounts) -> None:
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
    st.button(
        f"Show another {what}",
        key="generate-another",
        on_click=st.session_state.update,
        args=({_EXAMPLE: number + 1},),
    )


# -- prompt examples ------------------------------------------------------------------------------


OF_EACH = 3
"""Default number of examples per type."""

_ROW = 88
"""Row height in pixels for four lines. Streamlit wraps text only in rows higher than 64."""

_PROBLEM, _MESSAGE = "generate_examples_problem", "generate_examples_told"


def prompt_examples(chosen: PromptVersion, role: Role) -> None:
    """Show the examples of the version, and a form to choose others."""
    error_messages.show_once(_MESSAGE)
    if chosen.examples:
        with st.expander(counted(len(chosen.examples), "example"), icon=":material/list:"):
            st.dataframe(
                [_line(example) for example in from_rows(chosen.examples)],
                hide_index=True,
                key=f"generate-examples-of-{chosen.id}",
            )
    with st.expander("Add examples from reviewed variants", icon=":material/school:"):
        _form(chosen, role)


def _line(example: Example) -> dict[str, object]:
    labels = open_project.type_names()
    return {
        "Type": labels.get(example.type_id, example.type_id),
        "Anchor": example.anchor,
        "Variant": example.text,
        "Cue": example.cue,
        "Edited": example.edited,
    }


@current_user.for_leads("change prompts")
def _form(chosen: PromptVersion, role: Role) -> None:
    st.caption(
        "Chooses diverse variants that people have read and accepted, starting with edited ones. "
        "All come from the training split. The prompt for an anchor never includes its own "
        "variants."
    )
    left, right = st.columns(2)
    number = left.number_input(
        "Examples per type",
        1,
        MOST,
        OF_EACH,
        key="generate-examples-number",
        persist_state="session",
    )
    seed = right.number_input(
        "Seed",
        0,
        model_choice.MAX_SEED,
        0,
        key="generate-examples-seed",
        persist_state="session",
        help="Change the seed to get different examples.",
    )
    try:
        found = open_project.ask(choose_examples, role, int(number), seed=int(seed))
    except HedgerowError as error:
        st.text(str(error))
        return
    edited = st.data_editor(
        [{"Use": True} | _line(example) for example in found],
        hide_index=True,
        disabled=["Type", "Anchor", "Variant", "Cue", "Edited"],
        key=f"generate-examples-{role}-{number}-{seed}-{len(found)}",
        height="content",
        row_height=_ROW,
        column_config={
            "Use": st.column_config.CheckboxColumn(width=60, pinned=True),
            "Type": st.column_config.TextColumn(width=110),
            "Anchor": st.column_config.TextColumn(width=280),
            "Variant": st.column_config.TextColumn(width=280),
        },
    )
    kept = [example for example, row in zip(found, edited, strict=True) if row["Use"]]
    st.button(
        f"Save version with {counted(len(kept), 'example')}",
        key="generate-save-examples",
        disabled=not kept,
        on_click=_save,
        args=(chosen, kept),
    )
    error_messages.show_kept(_PROBLEM)


def _save(chosen: PromptVersion, kept: Sequence[Example]) -> None:
    with error_messages.kept_for(_PROBLEM):
        saved = open_project.tell(
            save_with_examples, chosen, kept, author_id=current_user.reviewer_id()
        )
        st.session_state[_MESSAGE] = f"Saved as version {saved.version}."
