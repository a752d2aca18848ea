"""The revisions of an anchor: a correction adds one, and the current one applies everywhere.

Variants keep the revision they were made for as part of their provenance. They are shown, measured
and released with the current revision.
"""

import unicodedata

from sqlalchemy import ColumnElement
from sqlmodel import col

from curation.content_uids import canonical
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision

MAX_ANCHOR = 2000
"""Maximum length of an anchor in characters."""

_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode bidirectional classes of characters that change the reading direction."""


def checked_anchor_text(text: str) -> str:
    """The canonical form of an anchor text written by a person.

    Raises:
        HedgerowError: the text is empty, too long or not plain text, or has characters that change
            the reading direction, so that it would look different from the stored text.
    """
    for character in text:
        if unicodedata.bidirectional(character) in _DIRECTIONS:
            raise HedgerowError(
                f"Expected plain text, found the direction control U+{ord(character):04X}; "
                "remove it."
            )
    clean = canonical(text)
    if not clean or len(clean) > MAX_ANCHOR:
        raise HedgerowError(
            f"Expected a text of 1 to {MAX_ANCHOR} characters, found {len(clean)}; "
            f"{'shorten it' if clean else 'write one, or retire the anchor'}."
        )
    return clean


def of_current_revision() -> ColumnElement[bool]:
    """SQL: the revision is the current one of its anchor. For a join with ``Anchor``."""
    return (col(AnchorRevision.anchor_id) == col(Anchor.id)) & (
        col(AnchorRevision.revision) == col(Anchor.revision)
    )
