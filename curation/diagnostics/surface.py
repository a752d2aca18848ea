"""Surface checks: whether a variant has the form its type requires, and what to highlight.

A check follows the declarative `SurfaceCheck` of a type. It only judges form: whether the main
clause has a negator, not whether the sentence contradicts its anchor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from curation.diagnostics.pair_analysis import PairAnalysis
from curation.taxonomy.cues import find_cue, find_exactly, find_phrase
from curation.taxonomy.surface_check import SurfaceCheck, TokenClass

MarkKind = Literal["cue", "negator", "affix"]

CLASS_LABELS: dict[TokenClass, str] = {
    "verbal_negator": "verbal negator (not, -n't)",
    "absolute_negator": "absolute negator (no, nobody, nothing, none, neither, nor, never …)",
    "approximate_negator": "approximate negator (hardly, barely, scarcely, seldom, rarely)",
    "negator": "negator",
    "negative_affix": "word with a negative affix (un-, in-, non-, -less …)",
}
"""The label of each class, with its members in brackets."""

_LONGEST = 40
"""Maximum characters of a word that a message quotes."""


class TextMark(NamedTuple):
    """A range of the text to highlight: character offsets, end exclusive."""

    start: int
    end: int
    kind: MarkKind


def check_surface(check: SurfaceCheck, *, anchor: str, text: str, cue: str | None) -> list[str]:
    """Return one short sentence for each problem in the form of `text`."""
    return surface_problems(check, PairAnalysis(anchor=anchor, text=text), cue=cue)


def surface_problems(
    check: SurfaceCheck, comparison: PairAnalysis, *, cue: str | None
) -> list[str]:
    """The same as `check_surface`, for a pair that has already been analysed."""
    return [
        *_class_problems(check, comparison),
        *_content_problems(check, comparison),
        *_cue_problems(check, comparison, cue),
        *_word_problems(check, comparison),
    ]


def new_members(
    token_class: TokenClass, comparison: PairAnalysis, *, check: SurfaceCheck
) -> list[str]:
    """Return the text's words that are new members of a token class, as `check` defines them."""
    main_clause = check.scope == "main_clause"
    words = comparison.text.words
    if token_class == "negative_affix":
        affixes = comparison.new_affixes(
            main_clause=main_clause,
            prefixes=check.negative_prefixes,
            suffixes=check.negative_suffixes,
        )
        return [words[i] for i, _, _ in affixes]
    return [
        " ".join(words[negator.first : negator.last + 1])
        for negator in comparison.new_negators(main_clause=main_clause)
        if token_class in ("negator", negator.kind)
    ]


def _class_problems(check: SurfaceCheck, comparison: PairAnalysis) -> Iterator[str]:
    for token_class in check.require_new:
        if not new_members(token_class, comparison, check=check):
            yield f"No new {CLASS_LABELS[token_class]}{_place(check)}."
    for token_class in check.forbid_new:
        if found := new_members(token_class, comparison, check=check):
            label = CLASS_LABELS[token_class].split(" (")[0]
            yield f"Unwanted {label}{_place(check)}: {quoted(found)}."


def _place(check: SurfaceCheck) -> str:
    return " in the main clause" if check.scope == "main_clause" else ""


def quoted(words: list[str]) -> str:
    """Quote the first three words, cutting off absurdly long ones."""
    shown = (word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…" for word in words[:3])
    return ", ".join(f"'{word}'" for word in shown) + (" and more" if len(words) > 3 else "")


def _content_problems(check: SurfaceCheck, comparison: PairAnalysis) -> Iterator[str]:
    if check.require_replaced_content and not comparison.content_replaced:
        yield "No content word of the anchor is replaced."
    if check.forbid_replaced_content and comparison.content_exchanged:
        words = comparison.reversed_by or comparison.added or comparison.lost
        yield f"A content word changes in addition to the negation: {quoted(words)}."
    elif check.forbid_reversed_content and comparison.content_reversed:
        words = comparison.reversed_by or comparison.antonyms
        yield (
            "There is a second reversal in addition to the "
            f"negation{': ' * bool(words)}{quoted(words)}."
        )


def _cue_problems(check: SurfaceCheck, comparison: PairAnalysis, cue: str | None) -> Iterator[str]:
    if not check.require_cue:
        return
    if not cue:
        yield "The variant has no recorded cue to check."
        return
    in_text = len(find_cue(comparison.text, cue))
    if not in_text:
        yield f"The cue '{cue}' is not in the text."
    elif in_text <= len(find_cue(comparison.anchor, cue)):
        yield f"The cue '{cue}' is already in the anchor."


def _word_problems(check: SurfaceCheck, comparison: PairAnalysis) -> Iterator[str]:
    def is_new(phrase: str) -> bool:
        in_text, in_anchor = (
            find_phrase(comparison.text, phrase),
            find_phrase(comparison.anchor, phrase),
        )
        return len(in_text) > len(in_anchor)

    if check.require_words and not any(is_new(word) for word in check.require_words):
        yield f"None of the required words has been added: {quoted(list(check.require_words))}."
    if found := [word for word in check.forbid_words if is_new(word)]:
        yield f"Unwanted word: {quoted(found)}."
    for rule in check.forbid_words_unless:
        found = [
            word
            for word in rule.words
            if len(find_exactly(comparison.text, word)) > len(find_exactly(comparison.anchor, word))
        ]
        if found and not any(find_phrase(comparison.anchor, word) for word in rule.anchor_has):
            named = [word.rstrip(" .,") for word in found]
            required_words = quoted(list(rule.anchor_has))
            yield f"The anchor has no word like {required_words}, which {quoted(named)} requires."


def marks(*, anchor: str, text: str, cue: str | None) -> list[TextMark]:
    """Return what to highlight in `text`, in order and without overlaps.

    These are: the cue, if it occurs, with a frame on both sides of the claim in parts ('Whether …
    is unknown'); each negator that the anchor does not have, even in a hedge's frame; and the affix
    (not the whole word) of each new word with a negative affix.
    """
    comparison = PairAnalysis(anchor=anchor, text=text)
    tokens = comparison.text.tokens
    found: list[TextMark] = []
    parts = [part for part in (cue or "").split("…") if part.strip()]
    for occurrence in (place for part in parts for place in find_cue(comparison.text, part)):
        for i in occurrence:
            start, end = tokens[i].start, tokens[i].end
            if found and text[found[-1].end : start].strip() == "":
                start = found.pop().start
            found.append(TextMark(start, end, "cue"))
    for negator in comparison.new_negators(main_clause=False):
        found.append(TextMark(tokens[negator.first].start, tokens[negator.last].end, "negator"))
    for i, first, end in comparison.new_affixes(main_clause=True):
        found.append(TextMark(tokens[i].start + first, tokens[i].start + end, "affix"))
    kept: list[TextMark] = []
    for mark in found:  # where two overlap, a cue is kept before a negator before an affix
        if all(mark.end <= other.start or mark.start >= other.end for other in kept):
            kept.append(mark)
    return sorted(kept)
