"""Families: an anchor with all its variants, and how they are read from rows of a data set."""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple


class Role(IntEnum):
    """Role of a text in relation to its family's anchor."""

    ANCHOR = 0
    PARAPHRASE = 1
    HEDGE = 2
    UNSUPPORTED = 3
    NEGATION = 4


POSITIVE = (Role.PARAPHRASE, Role.HEDGE)
"""The roles that state the same proposition as the anchor."""

LEVELS = (Role.PARAPHRASE, Role.HEDGE, Role.UNSUPPORTED, Role.NEGATION)
"""The roles of variants, from the one that should be closest to the anchor."""


class Member(NamedTuple):
    """A text of a family.

    Attributes:
        type_id: the variant type; empty for an anchor.
        source: the name of an anchor's source; empty for a variant.
    """

    text: str
    role: Role
    type_id: str = ""
    source: str = ""


Family = Sequence[Member]
"""The anchor, then its variants."""


def has_contrast(family: Family) -> bool:
    """Whether the family has at least one positive and one negation."""
    roles = {member.role for member in family}
    return Role.NEGATION in roles and not roles.isdisjoint(POSITIVE)


ANCHOR = "anchor"
"""The column of the anchor's text."""

VARIANTS = {
    "paraphrases": Role.PARAPHRASE,
    "hedges": Role.HEDGE,
    "unsupported": Role.UNSUPPORTED,
    "negations": Role.NEGATION,
}
"""The columns with an anchor's variants, each a list of texts, as in the table ``families`` of
Hedgerow's exports."""


def check_columns(found: Collection[str]) -> None:
    """Check the columns of a data set.

    Raises:
        ValueError: a required column is missing.
    """
    if ANCHOR in found and "negations" in found and {"paraphrases", "hedges"} & set(found):
        return
    raise ValueError(
        "Expected the columns anchor, negations, and paraphrases or hedges, found "
        f"{', '.join(found) or 'none'}: load the table families of a Hedgerow export, or rename "
        "your columns."
    )


def family_of(row: Mapping[str, Any]) -> list[Member]:
    """The family in a row: the anchor, then its variants. Other columns are ignored.

    Raises:
        ValueError: a required column is missing, or a value is not a text or a list of texts.
    """
    check_columns(row)
    anchor = row[ANCHOR]
    if not isinstance(anchor, str):
        raise ValueError(
            f"Expected a text in the column anchor, found {_shown(anchor)}: leave the row out, or "
            "correct it."
        )
    family = [Member(anchor, Role.ANCHOR)]
    for column, role in VARIANTS.items():
        texts = row.get(column)
        if texts is None:
            continue
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str) for t in texts):
            raise ValueError(
                f"Expected a list of texts in the column {column}, found {_shown(texts)} for the "
                f"anchor {_shown(anchor)}: put each text in a list, with an empty list for none."
            )
        family += [Member(text, role) for text in texts]
    return family


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
