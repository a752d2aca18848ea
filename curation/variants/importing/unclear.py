"""Missing information about a file: an option in the terminal, a field on the page."""

from enum import StrEnum

from db.errors import HedgerowError


class Field(StrEnum):
    """The field for the missing information."""

    ONE_COLUMN = "one column"
    ANCHORS = "anchors"
    VARIANTS = "variants"
    TYPES = "types"
    SAME_VALUE = "same value"
    VERDICT_WORDS = "verdict words"


_OPTIONS = {
    Field.ONE_COLUMN: "leave out one of them with COLUMN=ignore",
    Field.ANCHORS: "name the right one with COLUMN=anchor",
    Field.VARIANTS: "name it with COLUMN=text, COLUMN=verbal, COLUMN=hedge or COLUMN=negation",
    Field.TYPES: "name the column of types with COLUMN=type, or give all of them one type with "
    "{about}=verbal",
    Field.SAME_VALUE: "make them the same, or leave out the column with COLUMN=ignore",
    Field.VERDICT_WORDS: "define it with --verdict '{about}=accept', or leave out the column",
}
"""What to do in the terminal."""

_SHOWN = 40


class Unclear(HedgerowError):
    """A file can be imported once the user gives more information.

    The message is for the terminal. A page, which has fields instead of options, composes its own
    from the parts.

    Attributes:
        found: what was expected and found, without what to do.
        field: the missing information.
        about: the column or value that it is about; '' if the sentence already names it.
    """

    def __init__(self, found: str, field: Field, about: str = "") -> None:
        self.found, self.field, self.about = found, field, about[:_SHOWN]
        super().__init__(f"{found}; {_OPTIONS[field].format(about=self.about)}.")
