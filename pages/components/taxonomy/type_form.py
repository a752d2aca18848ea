"""The form in which a person writes down a variant type, and tries it out before it is stored."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from curation.diagnostics.surface import CLASS_LABELS
from curation.taxonomy.roles import ROLES, Role
from curation.taxonomy.surface_check import SurfaceCheck
from curation.taxonomy.type_drafts import (
    MAX_DEFINITION,
    MAX_EXAMPLE,
    MAX_GUIDELINE,
    MAX_NAME,
    MAX_PROMPT_LINE,
    OwnType,
    read_check,
)

_CONTENT = {
    "free": "May stay or change",
    "required": "One must give way to another",
    "reworded": "May be reworded, but not turned into opposites",
    "forbidden": "None may change",
}
_SCOPES = {"main_clause": "In the main clause", "sentence": "Anywhere in the sentence"}


class Form(NamedTuple):
    """What the widgets of one form are called, and what stands in them at first.

    Attributes:
        key: unlike that of any other form.
        known: the type that is changed; None for a new one.
    """

    key: str
    known: OwnType | None

    def of(self, name: str) -> str:
        """The key of a widget."""
        return f"own-type-{name}-{self.key}"


def fields(form: Form) -> OwnType:
    """Draw the form; gives what stands in it.

    Raises:
        HedgerowError: the check contradicts itself.
    """
    known = form.known
    left, right = st.columns(2, gap="medium")
    with left:
        label = st.text_input(
            "Name",
            known.label if known else "",
            max_chars=MAX_NAME,
            key=form.of("label"),
            placeholder="Such as: Quantifier negation",
        )
        role = st.selectbox(
            "What it does",
            list(ROLES),
            format_func=lambda key: f"{key.capitalize()}: {ROLES[key].does}",
            key=form.of("role"),
            index=list(ROLES).index(known.role) if known else 0,
            disabled=known is not None,
            help="Negations are the negatives of triples, hedges and paraphrases the positives. "
            "Unsupported claims are in no triple.",
        )
        definition = st.text_area(
            "Definition",
            known.definition if known else "",
            max_chars=MAX_DEFINITION,
            key=form.of("definition"),
            height=100,
            placeholder="One or two sentences, which reviewers see and models are told.",
        )
        anchor = st.text_input(
            "Example: the anchor",
            known.example_anchor if known else "",
            max_chars=MAX_EXAMPLE,
            key=form.of("anchor"),
        )
        example = st.text_input(
            "Example: a variant of it",
            known.example if known else "",
            max_chars=MAX_EXAMPLE,
            key=form.of("example"),
        )
    with right:
        check = _check(form, role)
    line, guideline = _more(form, with_cue=bool(check["require_cue"]))
    # Last, since Streamlit forgets what was typed into a box that one run does not draw.
    surface_check = read_check(check)
    return OwnType(
        label=label,
        role=role,
        definition=definition,
        example_anchor=anchor,
        example=example,
        prompt_line=line,
        surface_check=surface_check,
        guideline=guideline,
    )


def _check(form: Form, role: Role) -> dict[str, object]:
    """What can be seen in the wording alone; a variant that lacks it is flagged. Unchecked."""
    known = form.known.surface_check if form.known else SurfaceCheck()
    classes = list(CLASS_LABELS)
    with_cue = role == "hedge" and st.checkbox(
        "With a hedge cue",
        known.require_cue if form.known else True,
        key=form.of("cue"),
        help="Each call asks for one, drawn at random.",
    )
    words = st.text_area(
        "Its cues" if with_cue else "One of these words must be new",
        "\n".join(known.require_words),
        key=form.of("words"),
        height=80,
        placeholder="One per line; left empty, "
        + ("the paper's cues are asked for" if with_cue else "any new word will do"),
    )
    required = st.multiselect(
        "Must bring in",
        classes,
        known.require_new,
        key=form.of("require"),
        format_func=lambda key: CLASS_LABELS[key],
        placeholder="Nothing in particular",
    )
    forbidden = st.multiselect(
        "Must not bring in",
        classes,
        known.forbid_new,
        key=form.of("forbid"),
        format_func=lambda key: CLASS_LABELS[key],
        placeholder="Nothing is forbidden",
    )
    content = st.selectbox(
        "Content words of the anchor",
        list(_CONTENT),
        key=form.of("content"),
        index=list(_CONTENT).index(_content(known)),
        format_func=lambda key: _CONTENT[key],
    )
    with st.expander("More of the check"):
        rest = _rest_of_check(form, known)
    return {
        "require_new": required,
        "forbid_new": forbidden,
        "require_cue": with_cue,
        "require_words": _lines(words),
        "require_replaced_content": content == "required",
        "forbid_replaced_content": content == "forbidden",
        "forbid_reversed_content": content == "reworded",
        **rest,
    }


def _content(check: SurfaceCheck) -> str:
    if check.require_replaced_content:
        return "required"
    if check.forbid_replaced_content:
        return "forbidden"
    return "reworded" if check.forbid_reversed_content else "free"


def _rest_of_check(form: Form, known: SurfaceCheck) -> dict[str, object]:
    scope = st.selectbox(
        "Where the words above are counted",
        list(_SCOPES),
        key=form.of("scope"),
        index=list(_SCOPES).index(known.scope),
        format_func=lambda key: _SCOPES[key],
        help="The main clause leaves out what a hedge puts around it: I am not sure, but …",
    )
    lost = st.number_input(
        "Content words that may be lost",
        0,
        100,
        known.max_lost_content,
        key=form.of("lost"),
        placeholder="Any number",
    )
    unwanted = st.text_area(
        "None of these words may be new",
        "\n".join(known.forbid_words),
        key=form.of("unwanted"),
        height=80,
        placeholder="One per line",
    )
    unless = st.text_area(
        "Words that need others in the anchor",
        "\n".join(
            f"{', '.join(rule.words)} | {', '.join(rule.anchor_has)}"
            for rule in known.forbid_words_unless
        ),
        key=form.of("unless"),
        height=80,
        placeholder="no longer, any longer | still, remain",
        help="The words before the bar may be new only where the anchor has one of those after it.",
    )
    prefixes = st.text_input(
        "Negative prefixes",
        ", ".join(known.negative_prefixes),
        key=form.of("prefixes"),
        placeholder="In place of the built-in ones: un, non",
    )
    suffixes = st.text_input(
        "Negative suffixes",
        ", ".join(known.negative_suffixes),
        key=form.of("suffixes"),
        placeholder="In place of the built-in ones: less, free",
    )
    return {
        "scope": scope,
        "max_lost_content": lost,
        "forbid_words": _lines(unwanted),
        "forbid_words_unless": [_conditional(line) for line in _lines(unless)],
        "negative_prefixes": _lines(prefixes.replace(",", "\n")),
        "negative_suffixes": _lines(suffixes.replace(",", "\n")),
    }


def _more(form: Form, *, with_cue: bool) -> tuple[str, str]:
    """Prompt line and guideline: made of the rest where they are left empty."""
    known = form.known
    with st.expander("Prompt line and guideline"):
        st.caption("Left empty, they are made of name, definition and example.")
        line = st.text_area(
            "Prompt line",
            known.prompt_line if known else "",
            max_chars=MAX_PROMPT_LINE,
            key=form.of("line"),
            height=80,
            help="The line of the prompt that asks for this type."
            + (" The cue goes where {cue} stands." if with_cue else ""),
        )
        guideline = st.text_area(
            "Guideline",
            known.guideline if known else "",
            max_chars=MAX_GUIDELINE,
            key=form.of("guideline"),
            height=160,
            placeholder=_GUIDELINE,
            help="Shown beside the card in Review, and told to a model that judges.",
        )
    return line, guideline


_GUIDELINE = """\
Asked for: what a good variant does.

Rule, a case: what to do then.

Good:
The ferry leaves at nine.
→ The ferry doesn't leave at nine.
Why it is good."""


def _conditional(line: str) -> dict[str, Sequence[str]]:
    words, _, others = line.partition("|")
    return {
        "words": _lines(words.replace(",", "\n")),
        "anchor_has": _lines(others.replace(",", "\n")),
    }


def _lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
