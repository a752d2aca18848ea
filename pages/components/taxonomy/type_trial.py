"""Try a type: the result of its check on a sentence pair, and the prompt."""

import streamlit as st

from curation.content_uids import canonical
from curation.editing.type_drafts import MAX_EXAMPLE, OwnType, sketch, try_out
from curation.generation.prompts import (
    fill,
    newest_template,
    sample_cues,
    types_of,
)
from curation.taxonomy.built_in import VariantType
from pages.components.shared.formatting import markup
from pages.components.shared.shell import open_project
from pages.components.shared.variants import card


def draw(wanted: OwnType, *, key: str, type_id: str = "") -> None:
    """Try the type on its example or on your own sentence pair.

    Args:
        type_id: the type that is being changed; '' for a new one.
    """
    entry = sketch(wanted)
    st.header("Try it", anchor=False)
    anchor, text = _pair(entry, key)
    if not anchor or not text:
        st.text("Enter an anchor and a variant to see the result of the check.")
    else:
        _show_result(entry, anchor, text)
    if entry.label and entry.definition:
        _prompt(entry, anchor, type_id)


def _pair(entry: VariantType, key: str) -> tuple[str, str]:
    left, right = st.columns(2, gap="medium")
    anchor = left.text_input(
        "Anchor",
        key=f"try-anchor-{key}",
        max_chars=MAX_EXAMPLE,
        placeholder=entry.example_anchor or "Same as the example",
    )
    text = right.text_input(
        "Variant",
        key=f"try-text-{key}",
        max_chars=MAX_EXAMPLE,
        placeholder=entry.example or "Same as the example",
    )
    return canonical(anchor) or entry.example_anchor, canonical(text) or entry.example


def _show_result(entry: VariantType, anchor: str, text: str) -> None:
    tried = try_out(entry, anchor=anchor, text=text)
    markup.show(card.pair(anchor, text, cue=tried.cue))
    cue = f" Its cue: {tried.cue}." if tried.cue else ""
    result = " ".join(tried.problems) or f"The check finds nothing wrong.{cue}"
    markup.show(card.message(result, warn=bool(tried.problems)))


def _prompt(entry: VariantType, anchor: str, type_id: str) -> None:
    """The prompt that asks for all types of this role, including this one."""
    template = open_project.ask(newest_template, entry.role)
    others = [t for t in types_of(entry.role, open_project.types()) if t.id != type_id]
    types = [*others, entry]
    cues = sample_cues(types, seed=0, anchor_uid="")
    with st.expander("Prompt", icon=":material/chat:"):
        st.code(
            fill(template, text=anchor or "The anchor.", types=types, cues=cues),
            language=None,
            wrap_lines=True,
        )
