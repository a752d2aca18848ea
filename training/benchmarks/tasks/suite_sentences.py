"""The four forms of the user's own sentences, built as in SemAntoNeg (its §3).

A sentence with a negator before an adjective has four forms: itself, without its negator, with its
adjective's antonym from WordNet, and both. As in the paper, people should proofread the result,
because an antonym may not fit the sentence. Sentences without forms are reported with the reason.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from curation.content_uids import canonical
from curation.formatting import counted
from curation.generation.providers.rules.clause import past, third
from curation.language.negation import find_negators
from curation.language.tagging import TaggedWord, tag
from curation.language.tokens import Analysis, Token
from curation.language.wordnet import antonym_of
from db.errors import HedgerowError
from training.evaluation.held_out import Forms

FEWEST = 4
"""Minimum number of tokens in a sentence, including punctuation (§3)."""


Sentence = str | tuple[str, str]
"""A sentence, or a paraphrase pair with one negated sentence."""


class Reason(StrEnum):
    """The reasons why a sentence or pair has no forms."""

    SHORT = "fewer than four tokens"
    LONG = "too long for the tagger"
    ONE_NEGATED = "expected exactly one of the two sentences to be negated"
    NO_NEGATOR = "no 'not' in it"
    SEVERAL = "a negator other than a single 'not'"
    NO_ADJECTIVE = "no adjective right after its 'not'"
    NO_ANTONYM = "WordNet has no antonym of its adjective"
    POLARITY = "contains a word that needs negation"
    TAG = "its question tag would have to change"
    UNCLEAR = "no safe way to remove its 'not'"
    REPEATED = "repeats an earlier sentence"


class Unturned(NamedTuple):
    """A sentence without forms.

    Attributes:
        word: the word that the reason is about; '' if there is none.
    """

    sentence: str
    reason: Reason
    word: str = ""

    @property
    def description(self) -> str:
        """The reason with its word."""
        return f"{self.reason}: {self.word!r}" if self.word else str(self.reason)


class Built(NamedTuple):
    """The forms of sentences, in their order, and the sentences without forms."""

    forms: list[Forms]
    unturned: list[Unturned]

    @property
    def reasons(self) -> dict[str, int]:
        """The number of sentences without forms for each reason, the most frequent first."""
        return {str(name): n for name, n in Counter(u.reason for u in self.unturned).most_common()}


class _No(Exception):
    """Raised when a sentence has no forms."""

    def __init__(self, reason: Reason, word: str = "") -> None:
        super().__init__(reason.value)
        self.reason, self.word = reason, word


def build(sentences: Iterable[Sentence]) -> Built:
    """The forms of sentences, and of paraphrase pairs with one negated sentence.

    Raises:
        HedgerowError: a sentence is not plain text.
    """
    built, seen = Built([], []), set()
    for entry in sentences:
        shown = entry if isinstance(entry, str) else " / ".join(entry)
        try:
            text = canonical(entry if isinstance(entry, str) else _negated_one(*entry))
            if text in seen:
                raise _No(Reason.REPEATED)
            seen.add(text)
            built.forms.append(_forms(text))
        except _No as no:
            built.unturned.append(Unturned(shown, no.reason, no.word))
    return built


def at_least_one_turned(built: Built) -> Built:
    """Return the argument.

    Raises:
        HedgerowError: no sentence gave any forms.
    """
    if not built.forms and built.unturned:
        first = built.unturned[0]
        number = counted(len(built.unturned), "sentence")
        raise HedgerowError(
            f"Expected a sentence with 'not' before an adjective, found none in {number}; the "
            f"first, {first.sentence[:60]!r}: {first.description}."
        )
    return built


def _negated_one(first: str, second: str) -> str:
    """The only negated sentence of a pair. Neither sentence may be too short."""
    for text in (first, second):
        _tagged(canonical(text))
    negated = [text for text in (first, second) if _negators(Analysis(canonical(text)))]
    if len(negated) != 1:
        raise _No(Reason.ONE_NEGATED)
    return negated[0]


def _tagged(text: str) -> list[TaggedWord]:
    """The words of a sentence, if it is neither too short nor too long."""
    words = tag(text)
    if not words and text:
        raise _No(Reason.LONG)
    if len(words) < FEWEST:
        raise _No(Reason.SHORT)
    return words


def _forms(text: str) -> Forms:
    words = _tagged(text)
    analysis = Analysis(text)
    negator = _only_not(analysis)
    token = analysis.tokens[negator]
    adjective = _adjective(words, token)
    opposite = antonym_of(adjective.lower)
    if not opposite:
        raise _No(Reason.NO_ANTONYM, adjective.word)
    _check_rest(text, analysis)
    removed = _removal(text, words, analysis.tokens, negator)
    swapped = _swap(text, adjective, opposite)
    forms = Forms(
        text, *(_edited(text, edits) for edits in (removed, swapped, [*removed, *swapped]))
    )
    if len(set(forms)) < len(forms):
        raise _No(Reason.UNCLEAR)
    return forms


_Edits = list[tuple[int, int, str]]


def _edited(text: str, edits: _Edits) -> str:
    """The text with these edits, an initial capital, and single spaces."""
    made = text
    for start, end, new in sorted(edits, reverse=True):
        made = made[:start] + new + made[end:]
    made = " ".join(made.split())
    return made[:1].upper() + made[1:] if text[:1].isupper() else made


def _negators(analysis: Analysis) -> list[tuple[str, int]]:
    """Kind and first token of each negator, except for 'no' as an answer ('No, it is not')."""
    words = [*analysis.words, ""]
    return [
        (found.kind, found.first)
        for found in find_negators(analysis)
        if not (words[found.first] == "no" and words[found.first + 1] in (",", "."))
    ]


def _only_not(analysis: Analysis) -> int:
    """The token of the only negator, which is 'not' or '-n't'."""
    found = _negators(analysis)
    if not any(kind == "verbal_negator" for kind, _ in found):
        raise _No(Reason.NO_NEGATOR)
    if len(found) > 1:
        raise _No(Reason.SEVERAL)
    return found[0][1]


_BETWEEN = frozenset("AV0 AT0 DT0 DPS PNP NP0 NN1 NN2 NN0 VBI VBN EX0 ORD".split())
_LINKING = frozenset(
    "be feel seem look sound smell taste become get stay remain appear prove turn".split()
)


def _adjective(words: Sequence[TaggedWord], negator: Token) -> TaggedWord:
    """The first adjective after the negator, without another claim in between."""
    for word in words:
        if word.start < negator.end:
            continue
        if word.tag.startswith("AJ"):
            return word
        if word.tag not in _BETWEEN and word.lower not in _LINKING:
            break
    raise _No(Reason.NO_ADJECTIVE)


_POLARITY = frozenset("any anybody anyone anything anywhere anymore either ever yet longer".split())
_AT_ALL = re.compile(r"\bat all\b", re.IGNORECASE)
_TAG = re.compile(
    r",\s*(?:am|is|are|was|were|do|does|did|have|has|had|can|could|will|would|should|must)"
    r"(?:n[’']t)?\s+(?:i|you|he|she|it|we|they|there|that)\s*\?\s*$",
    re.IGNORECASE,
)


def _check_rest(text: str, analysis: Analysis) -> None:
    if word := next((word for word in analysis.words if word in _POLARITY), ""):
        raise _No(Reason.POLARITY, word)
    if _AT_ALL.search(text):
        raise _No(Reason.POLARITY, "at all")
    if _TAG.search(text):
        raise _No(Reason.TAG)


_DO = frozenset({"do", "does", "did"})
_THIRD, _PAST = {"have": "has", "do": "does", "be": "is"}, {"have": "had", "do": "did"}


def _removal(
    text: str, words: Sequence[TaggedWord], tokens: Sequence[Token], negator: int
) -> _Edits:
    """The edits that remove the negator, including an auxiliary 'do' that only carries it."""
    token = tokens[negator]
    host = tokens[negator - 1] if negator else None
    if host is not None and host.word in _DO:
        if (after := _after_adverbs(words, token.end)) is None:
            raise _No(Reason.UNCLEAR)
        if after.tag.startswith("V"):
            is_order = negator == 1
            verb = after.word if is_order else _finite(after.lower, host.word)
            return [(host.start, token.end, ""), (after.start, after.end, verb)]
    if host is None or token.start > host.end:  # a separate word
        return [(token.start, token.end, "")]
    if host.word == "be" or not host.word:  # ain't
        raise _No(Reason.UNCLEAR)
    written = text[host.start : host.start + 1]
    whole = host.word[:1].upper() + host.word[1:] if written.isupper() else host.word
    return [(host.start, token.end, whole)]


def _after_adverbs(words: Sequence[TaggedWord], end: int) -> TaggedWord | None:
    rest = (word for word in words if word.start >= end and word.tag != "AV0")
    return next(rest, None)


def _finite(base: str, do: str) -> str:
    """The verb without its auxiliary 'do'."""
    if do == "did":
        return _PAST.get(base) or past(base)
    if do == "does":
        return _THIRD.get(base) or third(base)
    if base == "be":
        raise _No(Reason.UNCLEAR)
    return base


_VOWEL = re.compile(r"a|e(?!u)|i|o(?!ne)|u(?!ni(?:[cfloqstv])|s[aeu]|ti|biq)|honest|hono|heir|hour")
"""Words that follow 'an'."""


def _swap(text: str, adjective: TaggedWord, opposite: str) -> _Edits:
    """The antonym in place of the adjective, with the right article ('a' or 'an') before it."""
    new = opposite.capitalize() if adjective.word[:1].isupper() else opposite
    edits: _Edits = [(adjective.start, adjective.end, new)]
    article = re.search(r"\b(an?)\s+$", text[: adjective.start], re.IGNORECASE)
    if article:
        wanted = "an" if _VOWEL.match(opposite) else "a"
        written = article[1]
        wanted = wanted.capitalize() if written[:1].isupper() else wanted
        edits.append((article.start(1), article.end(1), wanted))
    return edits
