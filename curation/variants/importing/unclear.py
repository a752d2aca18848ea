"""What an import needs to be told about a file: by an option here, in a field there."""

from enum import StrEnum

from db.errors import HedgerowError


class Field(StrEnum):
    """Where somebody can say it."""

    ONE_COLUMN = "one column"
    ANCHORS = "anchors"
    VARIANTS = "variants"
    TYPES = "types"
    SAME_VALUE = "same value"
    VERDICT_WORDS = "verdict words"


_OPTIONS = {
    Field.ONE_COLUMN: "leave one out, as in COLUMN=ignore",
    Field.ANCHORS: "say which one does, as in COLUMN=anchor",
    Field.VARIANTS: "say which one does, as in COLUMN=text, COLUMN=verbal, COLUMN=hedge or "
    "COLUMN=negation",
    Field.TYPES: "say which column names them, as in COLUMN=type, or which type all of them are, "
    "as in {about}=verbal",
    Field.SAME_VALUE: "make them the same, or leave the column out, as in COLUMN=ignore",
    Field.VERDICT_WORDS: "say what it means, as in --verdict '{about}=accept', or leave the column "
    "out",
}
"""What to do in the terminal."""

_TOLD = 40


class Unclear(HedgerowError):
    """A file can be imported as soon as somebody says more about it.

    The sentence is the terminal's. A page, which has fields instead of options, makes its own of
    the parts.

    Attributes:
        found: what was expected and found, without what to do.
        field: what has to be said.
        about: the column or the value that it has to be said of; '' where the sentence names it.
    """

    def __init__(self, found: str, field: Field, about: str = "") -> None:
        self.found, self.field, self.about = found, field, about[:_TOLD]
        super().__init__(f"{found}; {_OPTIONS[field].format(about=self.about)}.")
