"""The revisions of an anchor, of which the current one applies everywhere; sources of anchors."""

import unicodedata
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, case, func, select, true
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.corpora.corpus import CORPORA
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Source, Variant

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


def is_bundled(name: Any) -> ColumnElement[int]:
    """SQL: 1 for the source of a bundled corpus, 0 for other sources.

    Args:
        name: the column with the source's name.
    """
    return case((name.in_([corpus.source for corpus in CORPORA.values()]), 1), else_=0)


def of_sources(names: Collection[str]) -> ColumnElement[bool]:
    """SQL: the variant's anchor is from one of these sources; an empty list means all."""
    if not names:
        return true()
    return col(Variant.source_id).in_(select(col(Source.id)).where(col(Source.name).in_(names)))


def sources_in_use(session: Session) -> dict[int, str]:
    """Id → name of the sources with variants in use: own sources first, then by name."""
    in_use = (
        select(col(Variant.id))
        .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
        .where(col(Anchor.source_id) == col(Source.id), col(Variant.retired).is_(False))
    )
    query = select(col(Source.id), col(Source.name)).where(in_use.exists())
    order = is_bundled(col(Source.name)), func.lower(Source.name), col(Source.id)
    return dict(session.execute(query.order_by(*order)).all())


def source_in_use(session: Session, name: str) -> int:
    """The id of the source with this name that has variants in use.

    Raises:
        HedgerowError: there is none.
    """
    known = {its_name: key for key, its_name in sources_in_use(session).items()}
    if name not in known:
        there = ", ".join(known) or "there is none"
        raise HedgerowError(f"Expected a source with variants ({there}), found {name}.")
    return known[name]
