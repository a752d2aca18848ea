"""Guidance for writing and judging variants: a type's guideline, and warnings about a draft."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

import streamlit as st
from markupsafe import Markup

from curation.diagnostics.surface import marks
from curation.review.edit_preview import SavePreview
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.guideline import (
    ExampleKind,
    Guideline,
    GuidelineExample,
    GuidelineRule,
    parse_guideline,
)
from pages.components.shared import formatting

_HEADINGS = {ExampleKind.GOOD: "Good", ExampleKind.BAD: "Bad", ExampleKind.BORDERLINE: "Borderline"}


@lru_cache(maxsize=64)
def guide(entry: VariantType) -> Markup:
    """The guideline of a type. If it is longer than the window, it scrolls."""
    found = parse_guideline(entry.guideline)
    return Markup(
        '<aside class="hg-card hg-guide" aria-label="Guideline" tabindex="0">'
        '<div class="hg-head"><span class="hg-type">{}</span><span>guideline</span></div>'
        "<p>{}</p>{}{}</aside>"
    ).format(
        entry.label,
        _capital(found.asked_for or entry.definition),
        formatting.join(_examples(found, kind) for kind in ExampleKind),
        _rules(found.rules),
    )


def guideline_part(found: Guideline) -> Markup:
    """The examples and rules in a part of a guideline."""
    return Markup('<div class="hg-passage">{}{}</div>').format(
        formatting.join(_examples(found, kind) for kind in ExampleKind),
        _rules(found.rules),
    )


def _examples(found: Guideline, kind: ExampleKind) -> Markup:
    examples = found.examples_of(kind)
    if not examples:
        return Markup("")
    return _section(_HEADINGS[kind], kind.value, map(_example, examples))


def _rules(rules: Iterable[GuidelineRule]) -> Markup:
    parts = [
        Markup("<p>{}{}</p>").format(
            Markup("<b>{}.</b> ").format(_capital(rule.name)) if rule.name else "",
            _capital(rule.text),
        )
        for rule in rules
    ]
    return _section("Rules", "rules", parts) if parts else Markup("")


def _section(heading: str, kind: str, parts: Iterable[Markup]) -> Markup:
    return Markup('<details class="hg-{}" open><summary>{}</summary>{}</details>').format(
        kind, heading, formatting.join(parts)
    )


def _example(example: GuidelineExample) -> Markup:
    found = marks(anchor=example.anchor, text=example.variant, cue=example.cue)
    old, new = formatting.diff(example.anchor, example.variant, found)
    verdict = Markup('<span class="hg-verdict">{}</span> ').format(_capital(example.verdict) + ".")
    return Markup('<div class="hg-example"><div>{}</div><div>→ {}</div><p>{}{}</p></div>').format(
        old, new, verdict if example.verdict else "", example.why
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- draft warnings -------------------------------------------------------------------------------


def show_warnings(
    seen: SavePreview,
    asked: Collection[str],
    *,
    key: str,
    shown: str = "",
    open_card: Callable[[int], None] | None = None,
) -> None:
    """Draw the results below the buttons, so that they do not move a button during a click.

    Args:
        asked: the kinds of concern that a first attempt to save has asked about.
        shown: a message that the page shows already; a refusal in it is not repeated.
        open_card: opens the card of another variant, on a page that can do that.
    """
    sentences = [concern.sentence for concern in seen.concerns]
    if seen.refusal and seen.refusal not in shown:
        sentences.append(seen.refusal)
    is_asked = not seen.refusal and bool(seen.kinds.intersection(asked))
    if is_asked:
        sentences.insert(0, "Not saved yet. Save again to keep the text as it is, or change it.")
    others = [seen.there, *(concern.variant_id for concern in seen.concerns)]
    if not (sentences or seen.remark or any(others)):
        return
    with st.container(key=f"checks-{key}"):
        if seen.remark:
            st.caption(formatting.plain(seen.remark))
        if sentences:
            formatting.emit(
                Markup('<div class="hg-checks{}" role="status">{}</div>').format(
                    " hg-asked" if is_asked else "",
                    formatting.join(
                        Markup("<div>{}</div>").format(sentence) for sentence in sentences
                    ),
                )
            )
        for number in dict.fromkeys(other for other in others if other is not None):
            if open_card is not None:
                st.button(
                    "Show that card",
                    key=f"that-{number}-{key}",
                    type="tertiary",
                    on_click=open_card,
                    args=(number,),
                )
