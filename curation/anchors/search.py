"""Search anchors, variants and notes by part of the text in any case, or by uid.

Consecutive words are matched literally, without wildcards. A query that cannot be part of a text
has no results and is not an error.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, literal, null, or_, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.content_uids import UID_LENGTH, canonical
from curation.decisions.notes import is_kept
from db import trigrams
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Note, Status, Variant

LONGEST = 1000
"""Maximum characters of a query; an index would take seconds for longer ones."""

RANKED = 5000
"""Maximum number of ranked matches; if there are more, the oldest ones are used."""


_UID = re.compile(rf"[0-9a-f]{{{UID_LENGTH}}}", re.IGNORECASE)


class SearchKind(StrEnum):
    """What is searched."""

    VARIANTS = "variants"
    ANCHORS = "anchors"
    NOTES = "notes"


class Hit(NamedTuple):
    """A text that contains the query.

    Attributes:
        anchor_uid: uid of the anchor, or of the variant's anchor.
        variant_id, variant_uid, type_id, status: those of the variant, or of the note's variant;
            None for an anchor.
        retired: whether it is retired.
        about: for a note, the variant's text; else ''.
    """

    kind: SearchKind
    text: str
    anchor_uid: str
    variant_id: int | None = None
    variant_uid: str | None = None
    type_id: str | None = None
    status: Status | None = None
    retired: bool = False
    about: str = ""


class SearchResult(NamedTuple):
    """The results of a search.

    Attributes:
        hits: the first hits; whole words come before parts of words, then older texts first.
        rows: for each match, in this order, the id of its anchor or variant; at most ``RANKED``. A
            variant with two notes is listed twice.
        more: whether there are more than ``RANKED`` matches.
    """

    hits: list[Hit]
    rows: tuple[int, ...]
    more: bool


def find(session: Session, query: str, kind: SearchKind, *, limit: int) -> SearchResult:
    """Search all texts of one kind."""
    condition = matches(session, query, kind)
    found = session.execute(_texts(kind).where(condition).limit(RANKED + 1)).all()
    word = _whole_word(query)
    ranked = sorted(found[:RANKED], key=lambda row: word.search(row[2]) is None)
    hits = _hits(session, kind, [row[0] for row in ranked[:limit]])
    return SearchResult(hits, tuple(row[1] for row in ranked), len(found) > RANKED)


def matches(session: Session, query: str, kind: SearchKind) -> ColumnElement[bool]:
    """SQL: the text contains the query, or the uid is the query.

    For anchors, this is the current text, for a join of ``Anchor`` and ``AnchorRevision``.
    """
    clean = _clean(query)
    _, _, text, uid = _COLUMNS[kind]
    if not clean:
        return col(text).is_(None)  # never
    found = trigrams.contains(session, text, clean)
    if kind is SearchKind.NOTES:
        found = and_(found, is_kept())
    if uid is None or not _UID.fullmatch(clean):  # if possible: with OR, all texts are read
        return found
    return or_(found, col(uid) == clean.lower())


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it matches the query."""
    clean = _clean(query)
    if not clean:
        return [(text, False)]
    pieces = re.split(f"({re.escape(clean)})", text, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece]


def _clean(query: str) -> str:
    """The canonical query; '' if no text can contain it."""
    try:
        clean = canonical(query)
    except HedgerowError:
        return ""
    return clean if len(clean) <= LONGEST else ""


def _whole_word(query: str) -> re.Pattern[str]:
    clean = _clean(query)
    before = r"(?<!\w)" if clean[:1].isalnum() else ""
    after = r"(?!\w)" if clean[-1:].isalnum() else ""
    return re.compile(before + re.escape(clean) + after, re.IGNORECASE)


class _Columns(NamedTuple):
    """``of`` is the anchor or variant of a match."""

    id: Any
    of: Any
    text: Any
    uid: Any = None


_COLUMNS = {
    SearchKind.ANCHORS: _Columns(Anchor.id, Anchor.id, AnchorRevision.text, Anchor.uid),
    SearchKind.VARIANTS: _Columns(Variant.id, Variant.id, Variant.text, Variant.uid),
    SearchKind.NOTES: _Columns(Note.id, Note.variant_id, Note.text),
}


def _texts(kind: SearchKind) -> Select[*tuple[Any, ...]]:
    id, of, text, _ = _COLUMNS[kind]
    query = select(id, of, text).order_by(id)
    return (
        query.join(AnchorRevision, of_current_revision()) if kind is SearchKind.ANCHORS else query
    )


def _hits(session: Session, kind: SearchKind, ids: Sequence[int]) -> list[Hit]:
    """The rows with these ids, in this order."""
    query = _rows(kind).where(_COLUMNS[kind].id.in_(ids))
    found = {key: Hit(kind, *values) for key, *values in session.execute(query)}
    return [found[key] for key in ids]


def variant_hits(session: Session, ids: Sequence[int]) -> list[Hit]:
    """These variants as results of a search, in this order."""
    return _hits(session, SearchKind.VARIANTS, ids)


def _rows(kind: SearchKind) -> Select[*tuple[Any, ...]]:
    """The id and the fields of a ``Hit`` after its kind."""
    query: Select[*tuple[Any, ...]]
    if kind is SearchKind.ANCHORS:
        nothing = (null(),) * 4
        retired = col(Anchor.retired_at).is_not(None)
        query = select(
            _COLUMNS[kind].id, col(AnchorRevision.text), col(Anchor.uid), *nothing, retired
        )
        return query.join(AnchorRevision, of_current_revision()).add_columns(literal(""))
    of_variant = (
        col(Anchor.uid),
        col(Variant.id),
        col(Variant.uid),
        col(Variant.type_id),
        col(Variant.status),
        col(Variant.retired),
    )
    if kind is SearchKind.VARIANTS:
        query = select(_COLUMNS[kind].id, col(Variant.text), *of_variant, literal(""))
    else:
        query = select(_COLUMNS[kind].id, col(Note.text), *of_variant, col(Variant.text))
        query = query.join(Variant, col(Variant.id) == col(Note.variant_id))
    return query.join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
