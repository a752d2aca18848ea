"""Checks that find texts unsuitable as anchors.

The checks are deliberately conservative. An import leaves out what they find unless somebody says
otherwise, so a check with many false positives would lose good anchors.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from curation.anchors.revisions import MAX_ANCHOR
from curation.anchors.suitability import UnsuitableKind, find_problems
from curation.language.english import is_english, looks_other

_SHOWN = 40

LONG = 512
"""Maximum characters of an unsuspicious anchor; encoders read about this many word pieces."""


class Reason(StrEnum):
    """Why a row is not new and unsuspicious."""

    REJECTED = "rejected"
    EMPTY = "empty"
    NOT_TEXT = "not_text"
    TOO_LONG = "too_long"
    KNOWN = "known"
    EARLIER_REVISION = "earlier_wording"
    RETIRED = "retired"
    REPEATED = "repeated"
    NEARLY_KNOWN = "nearly_known"
    NEGATED = "negated"
    HEDGED = "hedged"
    DISPUTED = "disputed"
    QUESTION = "question"
    COMMAND = "command"
    OTHER_LANGUAGE = "other_language"
    LONG = "long"
    MARKUP = "markup"
    NO_SENTENCE = "no_sentence"
    SEVERAL_SENTENCES = "several_sentences"


LABELS = {
    Reason.REJECTED: "rejected, ignored or discarded in the source",
    Reason.EMPTY: "empty",
    Reason.NOT_TEXT: "contains control characters",
    Reason.TOO_LONG: f"longer than {MAX_ANCHOR:,} characters",
    Reason.KNOWN: "already an anchor",
    Reason.EARLIER_REVISION: "earlier revision of an anchor",
    Reason.RETIRED: "a retired anchor",
    Reason.REPEATED: "repeats another row",
    Reason.NEARLY_KNOWN: "differs only in case or punctuation",
    Reason.NEGATED: "already negated, or contains a near-negator",
    Reason.HEDGED: "already hedged",
    Reason.DISPUTED: "disputes its own claim",
    Reason.QUESTION: "a question",
    Reason.COMMAND: "a command",
    Reason.OTHER_LANGUAGE: "in another language",
    Reason.LONG: f"longer than {LONG} characters",
    Reason.MARKUP: "contains markup",
    Reason.NO_SENTENCE: "not a sentence",
    Reason.SEVERAL_SENTENCES: "several sentences",
}
"""The label of each reason in counts."""


class Finding(NamedTuple):
    """One reason against a row, with a sentence about this row."""

    reason: Reason
    sentence: str


_PROBLEMS = {
    UnsuitableKind.NEGATED: Reason.NEGATED,
    UnsuitableKind.HEDGED: Reason.HEDGED,
    UnsuitableKind.DISPUTED: Reason.DISPUTED,
    UnsuitableKind.QUESTION: Reason.QUESTION,
    UnsuitableKind.COMMAND: Reason.COMMAND,
    UnsuitableKind.OTHER_LANGUAGE: Reason.OTHER_LANGUAGE,
}
_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>]{0,200}>|&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]{2,8});|(?<!\w)(\*\*|__)\w.*\w\1(?!\w)"
    r"|\[[^\]]+\]\(\w+:[^)\s]+\)|^#{1,6}\s"
)
_LETTER = re.compile(r"[^\W\d_]")
# The word before a full stop and the text after it, without quotation marks and brackets.
_STOP = re.compile(r"([^\s.!?]*)([.!?])[\"'”’)\]]*\s+[\"'“‘(\[]*(\w)")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st mt ft vs etc jr sr inc ltd corp gen sen rep gov lt col sgt capt rev"
    " hon fig vol eds ca cf approx dept al jan feb apr jun jul aug sept oct nov dec ch pp"
    " ave blvd".split()
)


def suspicions(text: str, words: list[str], *, language: str) -> tuple[Finding, ...]:
    """The problems of a canonical text; empty for nearly all good anchors.

    Args:
        words: the result of ``curation.content_uids.words_of`` for the text.
        language: the tag of the language that it should be in. Most checks are for English.
    """
    english = is_english(language)
    found = [Finding(Reason.LONG, _long(text))] if len(text) > LONG else []
    if markup := _MARKUP.search(text):
        found.append(Finding(Reason.MARKUP, f"It contains the markup {markup[0][:_SHOWN]}"))
    if fragment := no_sentence(text, words, english=english):
        found.append(Finding(Reason.NO_SENTENCE, fragment))
    if not english:
        if looks_other(text, words, language):
            sentence = f"It does not look like the language '{language}'."
            found.append(Finding(Reason.OTHER_LANGUAGE, sentence))
        return tuple(found)
    if has_several_sentences(text):
        found.append(Finding(Reason.SEVERAL_SENTENCES, "It has several sentences."))
    if problems := find_problems(text, words):
        found += [Finding(_PROBLEMS[kind], sentence) for kind, sentence in problems]
    return tuple(found)


def no_sentence(text: str, words: list[str], *, english: bool) -> str:
    """Why a canonical text is not a sentence; '' if it may be one."""
    if not _LETTER.search(text):
        return "It has no letter."
    return "It is a single word." if english and len(words) == 1 else ""


def _long(text: str) -> str:
    return f"It has {len(text):,} characters, and encoders read little more than {LONG}."


def has_several_sentences(text: str) -> bool:
    """Whether a sentence ends before the end and another begins with a capital letter.

    A full stop after an abbreviation or an initial or inside a number does not end a sentence.
    """
    if text.find(".", 0, -1) < 0 and text.find("!", 0, -1) < 0 and text.find("?", 0, -1) < 0:
        return False
    return any(_ends(*match.groups()) for match in _STOP.finditer(text))


def _ends(word: str, mark: str, following: str) -> bool:
    if not following.isupper():
        return False
    if mark != ".":
        return True
    last = word.rpartition("(")[2].casefold()
    return len(last) > 1 and last not in _ABBREVIATIONS
