"""A plain statement, taken apart, and why the rules may write nothing for it."""

from enum import StrEnum
from typing import NamedTuple

from curation.language.tagging import TaggedWord

FINITE = "BHMOF"
"""Letters of finite verbs; see ``main_clause.py``."""


class SkipReason(StrEnum):
    """Why the rules write nothing, as a page may say it."""

    UNSUITABLE = "not a plain affirmative statement"
    UNCLEAR = "the main clause is not certain"
    COORDINATED = "it has several joined clauses or verbs"
    SCOPE = "a word or clause would change the scope of the negation"
    NO_ANTONYM = "no safe antonym is known"
    NO_CONSTRUCTION = "no safe construction is known"
    NO_CUE = "no cue can be placed"
    NO_RULE = "there are no rules for this type"


class Skipped(Exception):
    """The rules do not write this; ``reason`` says why."""

    def __init__(self, reason: SkipReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Clause(NamedTuple):
    """A statement, taken apart. Positions are those of ``tokens``, ends exclusive.

    Attributes:
        letters: one a token.
        head: of the noun that leads the subject; the subject itself where that is a pronoun.
        plain: whether the subject is one noun phrase, with no relative clause and no 'and'.
        plural: None where it cannot be told.
        finite: of the finite verb; adverbs may stand between it and the subject.
        end: of the last word; a full stop comes after it.
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
        """The word there in lower case; '' outside."""
        return self.tokens[position].lower if 0 <= position < self.end else ""

    def letter(self, position: int) -> str:
        return self.letters[position] if 0 <= position < self.end else ""

    @property
    def second_verb(self) -> int | None:
        """Where the finite verb of a second predicate stands: 'sat down and *read* a book'."""
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
    """The text with stretches (start, end, new) replaced; they must not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
