"""A word-level diff of a variant against its anchor, with cues, negators and affixes marked."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from markupsafe import Markup

from curation.diagnostics.surface import TextMark

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]", re.UNICODE)

MAX_WORDS = 400
"""Longer texts are shown without a diff: comparing takes quadratic time and nobody reads it."""

MIN_LIKENESS = 0.25
"""Of two texts, as difflib's ratio of their words (0 to 1). Below it a longer variant is no edit of
its anchor, as a passage is not, and a diff would mark nearly every word of both. A shorter one may
have dropped most of its anchor, which a diff has to show."""

_MARK_TITLES = {"cue": "cue", "negator": "negator", "affix": "negative affix"}


def diff(anchor: str, text: str, marks: Sequence[TextMark] = ()) -> tuple[Markup, Markup]:
    """The anchor with what the variant drops, and the variant with what it adds.

    Args:
        marks: stretches of ``text`` to highlight.

    Returns:
        Escaped HTML of the two sentences; words that differ only in case count as equal. A longer
        variant that has little in common with its anchor is shown without a diff.
    """
    old, new = list(_WORD.finditer(anchor)), list(_WORD.finditer(text))
    dropped: set[int] = set()
    added: set[int] = set()
    if max(len(old), len(new)) <= MAX_WORDS:
        matcher = SequenceMatcher(
            None, [m[0].casefold() for m in old], [m[0].casefold() for m in new], autojunk=False
        )
        is_edit = len(new) <= len(old) or matcher.ratio() >= MIN_LIKENESS
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if is_edit and tag != "equal":
                dropped |= _characters(old[i1:i2], anchor)
                added |= _characters(new[j1:j2], text)
    kinds = {i: mark.kind for mark in marks for i in range(mark.start, mark.end)}
    return (
        _sentence(anchor, dropped, {}, tag="del"),
        _sentence(text, added, kinds, tag="ins"),
    )


def _characters(words: Sequence[re.Match[str]], text: str) -> set[int]:
    """The offsets of neighbouring words, with the white space between them."""
    if not words:
        return set()
    return set(range(words[0].start(), words[-1].end()))


def _sentence(text: str, changed: set[int], kinds: Mapping[int, str], *, tag: str) -> Markup:
    parts = []
    runs = groupby(range(len(text)), key=lambda i: (i in changed, kinds.get(i)))
    for (is_changed, kind), indices in runs:
        part: Markup = Markup("{}").format("".join(text[i] for i in indices))
        if kind:
            part = Markup('<mark class="hg-{}" title="{}">{}</mark>').format(
                kind, _MARK_TITLES[kind], part
            )
        if is_changed:
            part = Markup("<{0}>{1}</{0}>").format(Markup(tag), part)
        parts.append(part)
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(join(parts))


def join(parts: Iterable[Markup]) -> Markup:
    """The parts one after the other."""
    return Markup("").join(parts)
