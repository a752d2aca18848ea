"""Checks that find texts unsuitable as anchors.

The checks are deliberately conservative. An import leaves out what they find unless somebody says
otherwise, so a check with many false positives would lose good anchors.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from curation.anchors.revisions import MAX_ANCHOR
from curation.content_uids import words_of
from curation.language.clause_types import is_command, is_question, may_be_no_statement
from curation.language.english import is_english, looks_foreign, looks_other
from curation.language.negation import find_negators
from curation.language.tokens import (
    ABSOLUTE_NEGATORS,
    APPROXIMATE_NEGATORS,
    VERBAL_NEGATORS,
    Analysis,
    is_content,
    load_lexicon,
)

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
    return (*found, *find_problems(text, words))


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


# -- whether an anchor is a plain affirmative claim -----------------------------------------------
#
# These are heuristics on words and clause boundaries that point reviewers to doubtful anchors. They
# prefer false negatives: a negator inside a relative or adverbial clause is not reported. The
# paper's own failed anchor was 'but this was disputed …'.


_LEXICON: dict[str, Any] = load_lexicon(Path(__file__).with_name("unsuitable_anchors.json"))
_HEDGES: list[list[str]] = [hedge.split() for hedge in _LEXICON["hedges"]]
_DISPUTES = frozenset(_LEXICON["disputes"])
_HARMLESS_NO = frozenset(tuple(pair.split()) for pair in _LEXICON["harmless_no"])
_UNCOUNTABLE = frozenset(_LEXICON["little"])
_WITH_FEW = frozenset(_LEXICON["with_few"])
_BEFORE_NOUN = frozenset({"a", "an", "the", "his", "her", "its", "my", "our", "your", "their"})
_SUBORDINATORS = frozenset(_LEXICON["subordinators"])
_CONTRASTS = frozenset({"but", "although", "though", "however", "yet", "while"})
_CLAUSE_ENDS = frozenset({",", ";", ":", ".", "(", ")", "–", "—", "--", "but"})
_ANAPHORS = frozenset({"this", "that", "it", "they", "which", "these", "those", "figure", "claim"})
_NUMBERS = frozenset("two three four five six seven eight nine ten half".split())
_DISPUTE_REACH = 5
"""Words between 'but' and 'disputed' ('but this *figure was later* disputed')."""


def _telling_word(phrase: list[str]) -> str:
    """The rarest word of a phrase."""
    return next((word for word in phrase if is_content(word)), phrase[0])


# A text with a problem has among its `words_of` one of the first set, a dispute word with a
# contrast word, or all words of a phrase. The 't' is from "isn't".
_ALONE = frozenset(
    {"t", "cannot", "few", "little", *VERBAL_NEGATORS, *APPROXIMATE_NEGATORS}
    | {part for word in ABSOLUTE_NEGATORS for part in words_of(word)[:1]}
    | {hedge[0] for hedge in _HEDGES if len(hedge) == 1}
)
_PHRASES = [(_telling_word(hedge), frozenset(hedge)) for hedge in _HEDGES if len(hedge) > 1]
_TELLING = _ALONE | _DISPUTES | {word for word, _ in _PHRASES}


def _may_have_problems(words: list[str]) -> bool:
    """A quick word test at a tenth of the cost of the analysis, without false negatives."""
    found = _TELLING.intersection(words)
    if not found:
        return False
    if not found.isdisjoint(_ALONE):
        return True
    if not found.isdisjoint(_DISPUTES) and not _CONTRASTS.isdisjoint(words):
        return True
    return any(word in found and phrase.issubset(words) for word, phrase in _PHRASES)


def find_problems(anchor: str, words: list[str]) -> tuple[Finding, ...]:
    """Return the reasons why an anchor is not a plain affirmative claim.

    Args:
        anchor: the text.
        words: the result of `words_of` for the text.
    """
    if looks_foreign(anchor, words):
        return (Finding(Reason.OTHER_LANGUAGE, "The anchor does not look like English."),)
    if (
        not _may_have_problems(words)
        and "?" not in anchor
        and not may_be_no_statement(anchor, words)
    ):
        return ()
    analysis = Analysis(anchor)
    return (
        *_negated(analysis),
        *_nearly_negated(analysis),
        *_hedged(analysis),
        *_disputed(analysis),
        *_no_statement(analysis),
    )


@lru_cache(maxsize=2048)
def _sentences(anchor: str) -> tuple[str, ...]:
    return tuple(problem.sentence for problem in find_problems(anchor, words_of(anchor)))


def anchor_problems(anchor: str) -> list[str]:
    """Return one short sentence for each reason why an anchor is not a plain affirmative claim."""
    return list(_sentences(anchor))


def _negated(analysis: Analysis) -> Iterator[Finding]:
    words = [*analysis.words, ""]
    for negator in find_negators(analysis):
        if negator.kind not in ("verbal_negator", "absolute_negator"):
            continue
        if tuple(words[negator.first : negator.first + 2]) in _HARMLESS_NO:
            continue
        if words[negator.first] == "no" and words[negator.first - 1] == "with":
            continue  # "A man with no hat is running" says that he is running
        if not _in_subordinate_clause(analysis.words, negator.first):
            sentence = f"The anchor is already negated ('{words[negator.first]}')."
            yield Finding(Reason.NEGATED, sentence)
            return


def _nearly_negated(analysis: Analysis) -> Iterator[Finding]:
    """'She hardly ever smiles', 'few people came', 'there is little hope'."""
    for i, word in enumerate(analysis.words):
        if _nearly_negates(analysis.words, i) and not _in_subordinate_clause(analysis.words, i):
            sentence = f"The anchor contains a near-negator ('{word}')."
            yield Finding(Reason.NEGATED, sentence)
            return


def _nearly_negates(words: list[str], i: int) -> bool:
    before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
    if words[i] in APPROXIMATE_NEGATORS:
        # "The barely visible scar", "barely two years ago": only that word is in its scope.
        return before not in _BEFORE_NOUN and not after[:1].isdigit() and after not in _NUMBERS
    if words[i] == "few":
        return before not in _WITH_FEW and after[:1].isalpha()
    # "There is little hope", but not "a little boy" or "his little brother".
    return words[i] == "little" and after in _UNCOUNTABLE and before not in _BEFORE_NOUN


def _in_subordinate_clause(words: list[str], position: int) -> bool:
    """Return whether there is a subordinator between the last clause boundary and this word."""
    for i in range(position - 1, -1, -1):
        if words[i] in _CLAUSE_ENDS:
            return False
        if words[i] in _SUBORDINATORS:
            opens = i == 0 or words[i - 1] in _CLAUSE_ENDS
            if opens and words[i] == "that":
                return False  # "That dog is …": a determiner
            # "Because it isn't fair." has no other main clause.
            return i > 0 or "," in words[position:]
    return False


def _hedged(analysis: Analysis) -> Iterator[Finding]:
    words = analysis.words
    present = set(words)
    for hedge in _HEDGES:
        if hedge[0] not in present:
            continue
        starts = (i for i, word in enumerate(words) if word == hedge[0])
        if any(
            words[i : i + len(hedge)] == hedge and not _in_subordinate_clause(words, i)
            for i in starts
        ):
            yield Finding(Reason.HEDGED, f"The anchor is already hedged ('{' '.join(hedge)}').")
            return


def _disputed(analysis: Analysis) -> Iterator[Finding]:
    """'P, but this was disputed by …': a contrast that disputes the claim."""
    words = analysis.words
    for i, word in enumerate(words):
        if word not in _CONTRASTS:
            continue
        following = words[i + 1 : i + 1 + _DISPUTE_REACH]
        disputes = [w for w in following if w in _DISPUTES]
        if disputes and _ANAPHORS.intersection(following):
            sentence = f"The anchor reports its own claim as '{disputes[0]}'."
            yield Finding(Reason.DISPUTED, sentence)
            return


def _no_statement(analysis: Analysis) -> Iterator[Finding]:
    if is_question(analysis.words):
        yield Finding(Reason.QUESTION, "The anchor is a question, not a claim.")
    elif is_command(analysis.words):
        yield Finding(Reason.COMMAND, "The anchor is a command, not a claim.")
