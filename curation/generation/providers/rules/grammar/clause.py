"""A parsed plain statement, and the reasons why the rules may skip it."""

from enum import StrEnum
from typing import NamedTuple

from curation.language.tagging import TaggedWord

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
