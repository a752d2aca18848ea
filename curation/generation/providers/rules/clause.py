"""A parsed plain statement: the reasons to skip it, verb forms, and word lists."""

import re
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from curation.language.tagging import TaggedWord, is_known, may_be_common, verb_lemma
from curation.language.tokens import load_lexicon, word_sets

# -- A parsed plain statement, and the reasons why the rules may skip it --------------------------


FINITE = "BHMOF"
"""The letters for finite verbs; see ``main_clause.py``."""


class SkipReason(StrEnum):
    """Why the rules write nothing, in words that a page can show."""

    UNSUITABLE = "not a plain affirmative statement"
    UNCLEAR = "the main clause is not certain"
    COORDINATED = "it has several joined clauses or verbs"
    SCOPE = "a word or clause would change the scope of the negation"
    NO_ANTONYM = "no safe antonym is known"
    NO_CONSTRUCTION = "no safe construction is known"
    NO_CUE = "no cue can be placed"
    NO_RULE = "there are no rules for this type"


class Skipped(Exception):
    """The rules do not write this variant; ``reason`` says why."""

    def __init__(self, reason: SkipReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Clause(NamedTuple):
    """A parsed statement. Positions are indexes into ``tokens``; ends are exclusive.

    Attributes:
        letters: one per token.
        head: position of the subject's head noun, or of the subject itself if it is a pronoun.
        plain: whether the subject is a single noun phrase without a relative clause or 'and'.
        plural: None if unknown.
        finite: position of the finite verb; adverbs may separate it from the subject.
        end: end of the last word; a full stop may follow.
    """

    text: str
    tokens: list[TaggedWord]
    letters: str
    subject_start: int
    subject_end: int
    head: int
    plain: bool
    plural: bool | None
    finite: int
    end: int

    @property
    def verb(self) -> TaggedWord:
        return self.tokens[self.finite]

    @property
    def kind(self) -> str:
        """B be, H have, M modal, O do, F any other verb."""
        return self.letters[self.finite]

    @property
    def is_contracted(self) -> bool:
        """Whether the finite verb is contracted with its subject: "they've"."""
        return self.verb.word.startswith(("'", "’"))

    @property
    def lexical_verb(self) -> str:
        """The base of the finite verb if it is a lexical verb; '' if not, or if it is uncertain."""
        return base_of(self.verb.word, self.verb.tag) if self.kind == "F" else ""

    @property
    def tail(self) -> str:
        return self.letters[self.finite + 1 : self.end]

    def word(self, position: int) -> str:
        """Return the word at this position in lower case; '' outside the text."""
        return self.tokens[position].lower if 0 <= position < self.end else ""

    def letter(self, position: int) -> str:
        return self.letters[position] if 0 <= position < self.end else ""

    @property
    def second_verb(self) -> int | None:
        """The position of a second predicate's finite verb: 'sat down and *read* a book'."""
        for i in range(self.finite + 1, self.end):
            before = i - 1 - (self.letters[i - 1] == "V")
            if self.letters[i] in FINITE and self.letters[before] == "C":
                return i
        return None

    def after_adverbs(self) -> int:
        """The position after the finite verb and the adverbs that follow it."""
        position = self.finite + 1
        while self.letter(position) == "V":
            position += 1
        return position


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Replace ranges of the text (start, end, new). They must not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# -- The rules' word lists, loaded once. Every entry was checked by hand --------------------------


WORDS: dict[str, Any] = load_lexicon(Path(__file__).with_name("words.json"))
SETS: dict[str, frozenset[str]] = {
    **word_sets(Path(__file__).with_name("words.json")),
    **word_sets(Path(__file__).with_name("word_sets.json")),
}


# -- Lower-cases a statement's first word for use inside another sentence -------------------------


def lowered_opening(clause: Clause) -> str | None:
    """Return the first word, lower-cased unless it is a name; None if that is uncertain."""
    first, following = clause.tokens[0], clause.tokens[1]
    word, noun = first.word, clause.letters[0] == "N"
    if word == "I" or not (word == "A" or word[1:].islower()):
        return word
    if first.tag == "NP0":
        return None if may_be_common(word) and not following.word[0].isupper() else word
    if first.tag not in SETS["lowered"] or keeps_capital(word):
        return word
    if not is_known(word):
        return None
    if noun and following.word[0].isupper():
        return word  # 'Aunt Vera', 'Lake Orvane'
    # 'Kit' or 'copper'?
    is_unclear = clause.head == clause.subject_start == 0 or clause.letter(1) == "K"
    if noun and first.tag != "NN2" and is_unclear:
        return None
    return word[0].lower() + word[1:]


def keeps_capital(word: str) -> bool:
    """Whether a word is always capitalised: 'French', 'Mondays'."""
    lower = word.lower()
    return (
        lower in SETS["proper_adjectives"] or lower.removesuffix("s") in SETS["proper_adjectives"]
    )


# -- forms ----------------------------------------------------------------------------------------


_IRREGULAR: dict[str, tuple[list[str], list[str]]] = {
    base: (past.split("/"), participle.split("/"))
    for base, past, participle in map(str.split, WORDS["irregular_verbs"])
}
_BASES: dict[tuple[str, str], list[str]] = {}
"""The bases of an irregular form, by tag."""
for _base, (_past, _participle) in _IRREGULAR.items():
    for _tag, _form in [*(("VVD", one) for one in _past), *(("VVN", one) for one in _participle)]:
        _BASES.setdefault((_tag, _form), []).append(_base)

_CVC = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][^aeiouwxy]$")


def _ed(base: str) -> str:
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    if _CVC.match(base) or base in SETS["doubling_verbs"]:
        return base + base[-1] + "ed"
    return base.removesuffix("e") + "ed"


def past(base: str) -> str:
    """'plan': 'planned', 'go': 'went'."""
    return _IRREGULAR[base][0][0] if base in _IRREGULAR else _ed(base)


def participle(base: str) -> str:
    """'plan': 'planned', 'go': 'gone'."""
    return _IRREGULAR[base][1][0] if base in _IRREGULAR else _ed(base)


def third(base: str) -> str:
    """'go': 'goes', 'try': 'tries'."""
    if re.search(r"(s|x|z|ch|sh|o)$", base):
        return base + "es"
    return base[:-1] + "ies" if re.search(r"[^aeiou]y$", base) else base + "s"


@lru_cache(maxsize=16_384)
def base_of(word: str, tag: str) -> str:
    """Return the base of a finite lexical verb; '' if it is uncertain.

    Args:
        tag: VVB or VVI, VVZ, VVD, VVN.
    """
    word = word.lower()
    if tag in ("VVB", "VVI"):
        return word
    known = _BASES.get((tag, word), [])
    if len(known) == 1:
        return known[0]
    guess = verb_lemma(word, tag)
    if known:
        return guess if guess in known else ""
    form = {"VVZ": third, "VVD": past, "VVN": participle}[tag]
    # Unless both methods agree, the spelling of the base is a guess. British 'travelled' is fine.
    candidates = (guess, guess + "e", guess[:-1])
    fitting = [base for base in candidates if base and form(base) == word]
    if len(fitting) > 1:  # 'souped': 'soup' or 'soupe'?
        fitting = [base for base in fitting if is_known(base)]
    if fitting:
        return fitting[0]
    if tag != "VVZ" and word.endswith(("lled", "pped")) and guess == word[:-3]:
        return guess
    return ""
