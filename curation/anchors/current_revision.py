"""An anchor's wordings: a correction adds one, and the current one is what everything goes by.

Variants keep the revision they were made for, as a record of where they come from. They are shown,
measured and released beside the current wording, which is the only one that still holds.
"""

import unicodedata

from sqlalchemy import ColumnElement
from sqlmodel import col

from curation.content_uids import canonical
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision

MAX_ANCHOR = 2000
"""Longest wording of an anchor, in characters."""

_DIRECTIONS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Unicode's bidirectional classes of the characters that turn the reading direction."""


def checked_wording(text: str) -> str:
    """The wording of an anchor that a person writes, in its canonical form.

    Raises:
        HedgerowError: it is empty, too long or not plain text, or has characters that turn the
            reading direction, so that it would read differently from what is stored.
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
            f"Expected a wording of 1 to {MAX_ANCHOR} characters, found {len(clean)}; "
            f"{'shorten it' if clean else 'write one, or retire the anchor'}."
        )
    return clean


def current_wording() -> ColumnElement[bool]:
    """SQL: the revision is its anchor's current one. For a join where ``Anchor`` is there."""
    return (col(AnchorRevision.anchor_id) == col(Anchor.id)) & (
        col(AnchorRevision.revision) == col(Anchor.revision)
    )
