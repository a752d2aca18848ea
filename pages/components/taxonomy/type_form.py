"""The form to write a variant type and try it before saving."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from curation.diagnostics.surface import CLASS_LABELS
from curation.editing.type_drafts import (
    MAX_DEFINITION,
    MAX_EXAMPLE,
    MAX_GUIDELINE,
    MAX_NAME,
    MAX_PROMPT_LINE,
    OwnType,
    read_check,
)
from curation.taxonomy.surface_check import ROLES, Role, SurfaceCheck

_CONTENT = {
    "free": "May stay or change",
    "required": "At least one must be replaced",
    "reworded": "May be replaced, but not by antonyms",
    "forbidden": "None may be replaced",
}
_SCOPES = {"main_clause": "In the main clause", "sentence": "Anywhere in the sentence"}


_NEW = OwnType(label="", role=next(iter(ROLES)), definition="", example_anchor="", example="")


class Form(NamedTuple):
    """The widget keys of one form and its initial values.

    Attributes:
        key: unique among forms.
        known: the type being changed; None for a new one.
    """

    key: str
    known: OwnType | None

    def widget(self, name: str) -> str:
        """Session key of a widget."""
        return f"own-type-{name}-{self.key}"


def fields(form: Form) -> OwnType:
    """Show the form; return its contents.

    Raises:
        HedgerowError: the check contradicts itself.
    """
    known = form.known or _NEW
    columns = st.container(key=f"columns-{form.key}", gap="medium")
    with columns.container():
        values: dict[str, Any] = {
            "label": st.text_input(
                "Name",
                known.label,
                max_chars=MAX_NAME,
                key=form.widget("label"),
                placeholder="For example: Quantifier negation",
            ),
            "role": st.selectbox(
                "Role",
                list(ROLES),
                format_func=lambda key: f"{key.capitalize()}: {ROLES[key].does}",
                key=form.widget("role"),
                index=list(ROLES).index(known.role),
                disabled=form.known is not None,
                help="In triples, negations are the negatives, and hedges and paraphrases are the "
                "positives. Unsupported claims are not used in triples.",
            ),
            "definition": st.text_area(
                "Definition",
                known.definition,
                max_chars=MAX_DEFINITION,
                key=form.widget("definition"),
                height=100,
                placeholder="One or two sentences. Reviewers see them, and prompts include them.",
            ),
            "example_anchor": st.text_input(
                "Example anchor",
                known.example_anchor,
                max_chars=MAX_EXAMPLE,
                key=form.widget("anchor"),
            ),
            "example": st.text_input(
                "Example variant", known.example, max_chars=MAX_EXAMPLE, key=form.widget("example")
            ),
        }
    with columns.container():
        check = _check(form, values["role"])
    with st.expander("More checks"):
        check |= _rest_of_check(known.surface_check, form)
    values |= _more(form, known, with_cue=bool(check["require_cue"]))
    # Last, because Streamlit forgets the input of a box that a rerun does not render.
    return OwnType(**values, surface_check=read_check(check))


def _check(form: Form, role: Role) -> dict[str, object]:
    """Requirements on the text; a variant that fails them is flagged. Not validated yet."""
    known = (form.known or _NEW).surface_check
    with_cue = role == "hedge" and st.checkbox(
        "With a hedge cue",
        known.require_cue if form.known else True,
        key=form.widget("cue"),
        help="Each call asks for one cue, chosen at random.",
    )
    words = st.text_area(
        "Hedge cues" if with_cue else "Required words (a variant must add one)",
        "\n".join(known.require_words),
        key=form.widget("words"),
        height=80,
        placeholder="One per line. "
        + ("Leave empty to use the paper's cues." if with_cue else "Leave empty to require none."),
    )
    required, forbidden = (
        st.multiselect(
            label,
            list(CLASS_LABELS),
            classes,
            key=form.widget(name),
            format_func=lambda key: CLASS_LABELS[key],
            placeholder=f"No {none}",
        )
        for label, classes, name, none in (
            ("Must add", known.require_new, "require", "requirement"),
            ("Must not add", known.forbid_new, "forbid", "restriction"),
        )
    )
    content = st.selectbox(
        "Content words of the anchor",
        list(_CONTENT),
        key=form.widget("content"),
        index=list(_CONTENT).index(_content(known)),
        format_func=lambda key: _CONTENT[key],
    )
    return {
        "require_new": required,
        "forbid_new": forbidden,
        "require_cue": with_cue,
        "require_words": _lines(words),
        "require_replaced_content": content == "required",
        "forbid_replaced_content": content == "forbidden",
        "forbid_reversed_content": content == "reworded",
    }


def _content(check: SurfaceCheck) -> str:
    if check.require_replaced_content:
        return "required"
    if check.forbid_replaced_content:
        return "forbidden"
    return "reworded" if check.forbid_reversed_content else "free"


def _rest_of_check(known: SurfaceCheck, form: Form) -> dict[str, object]:
    columns = st.container(key=f"columns-checks-{form.key}", gap="medium")
    with columns.container():
        first = {
            "scope": st.selectbox(
                "Scope of “Must add” and “Must not add”",
                list(_SCOPES),
                key=form.widget("scope"),
                index=list(_SCOPES).index(known.scope),
                format_func=lambda key: _SCOPES[key],
                help='The main clause excludes a hedging frame such as "I am not sure, but …"',
            ),
            "forbid_words": _lines(
                st.text_area(
                    "Forbidden words (a variant must not add any)",
                    "\n".join(known.forbid_words),
                    key=form.widget("unwanted"),
                    height=80,
                    placeholder="One per line",
                )
            ),
            "negative_prefixes": _words(
                st.text_input(
                    "Negative prefixes",
                    ", ".join(known.negative_prefixes),
                    key=form.widget("prefixes"),
                    placeholder="Replaces the built-in list, for example: un, non",
                )
            ),
        }
    with columns.container():
        lost = st.number_input(
            "Content words that may be dropped",
            0,
            100,
            known.max_lost_content,
            key=form.widget("lost"),
            placeholder="Any number",
        )
        unless = st.text_area(
            "Words allowed only if the anchor has certain words",
            "\n".join(
                f"{', '.join(rule.words)} | {', '.join(rule.anchor_has)}"
                for rule in known.forbid_words_unless
            ),
            key=form.widget("unless"),
            height=80,
            placeholder="no longer, any longer | still, remain",
            help="The words before the bar may be added only if the anchor has one of the words "
            "after it.",
        )
        suffixes = st.text_input(
            "Negative suffixes",
            ", ".join(known.negative_suffixes),
            key=form.widget("suffixes"),
            placeholder="Replaces the built-in list, for example: less, free",
        )
    rules = (line.partition("|") for line in _lines(unless))
    return first | {
        "max_lost_content": lost,
        "forbid_words_unless": [
            {"words": _words(words), "anchor_has": _words(others)} for words, _, others in rules
        ],
        "negative_suffixes": _words(suffixes),
    }


def _more(form: Form, known: OwnType, *, with_cue: bool) -> dict[str, str]:
    """Prompt line and guideline, generated from the other fields if left empty."""
    with st.expander("Prompt line and guideline"):
        st.caption(
            "If you leave them empty, they are generated from the name, definition and example."
        )
        return {
            "prompt_line": st.text_area(
                "Prompt line",
                known.prompt_line,
                max_chars=MAX_PROMPT_LINE,
                key=form.widget("line"),
                height=80,
                help="The line of the prompt that asks for this type."
                + (" {cue} stands for the cue." if with_cue else ""),
            ),
            "guideline": st.text_area(
                "Guideline",
                known.guideline,
                max_chars=MAX_GUIDELINE,
                key=form.widget("guideline"),
                height=160,
                placeholder=_GUIDELINE,
                help="Shown next to the card in Review, and included in prompts for judging.",
            ),
        }


_GUIDELINE = """\
Asked for: describe what a good variant does.

Rule, name of a special case: say what to do.

Good:
The ferry leaves at nine.
→ The ferry doesn't leave at nine.
Why it is good."""


def _lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _words(text: str) -> Sequence[str]:
    """Words separated by commas."""
    return _lines(text.replace(",", "\n"))
