"""Find anchors, and look up the details of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.revisions import of_current_revision
from curation.anchors.search import SearchKind, matches
from curation.decisions.reviewers import shown_name
from db.columns import limited_to
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Reviewer, Source, Split, Status, Variant

SHOWN = 8
"""Maximum sources listed in a message."""


@dataclass(frozen=True)
class AnchorFilter:
    """Which anchors to list; all conditions must be met.

    Attributes:
        text: part of the current text in any case, or a uid (see ``curation.anchors.search``).
        source: the name of a source; '' for all. ``genre`` likewise.
        retired: only retired ones, or only those in use.
        without_variants: only anchors without variants.
    """

    text: str = ""
    source: str = ""
    genre: str = ""
    split: Split | None = None
    retired: bool = False
    without_variants: bool = False

    def conditions(self, session: Session) -> list[ColumnElement[bool]]:
        """SQL over ``Anchor`` and its current ``AnchorRevision``."""
        since = col(Anchor.retired_at)
        found: list[ColumnElement[bool]] = [since.is_not(None) if self.retired else since.is_(None)]
        if self.text:
            found.append(matches(session, self.text, SearchKind.ANCHORS))
        if self.source:
            named = select(col(Source.id)).where(col(Source.name) == self.source)
            found.append(col(Anchor.source_id).in_(named))
        if self.genre:
            found.append(col(Anchor.genre) == self.genre)
        if self.split:
            found.append(col(Anchor.split) == self.split)
        if self.without_variants:
            its = select(col(Variant.id)).where(col(Variant.anchor_id) == col(Anchor.id))
            found.append(~its.exists())
        return found


class FoundAnchor(NamedTuple):
    """An anchor in a list; ``variants`` excludes superseded variants."""

    id: int
    uid: str
    text: str
    revision: int
    source: str
    licence: str
    genre: str
    language: str
    split: Split
    document_id: str
    row_id: str
    retired_at: datetime | None
    variants: int


_Listed = tuple[int, str, str, int, str, str, str, str, Split, str, str, datetime | None]
"""The selected columns of an anchor: a ``FoundAnchor`` without its variants."""


class AnchorPage(NamedTuple):
    """Some of the anchors found, and their total number."""

    anchors: list[FoundAnchor]
    total: int


class NumberedPage(NamedTuple):
    """A page of a list of anchors; page numbers start at 1."""

    number: int
    found: AnchorPage


class Revision(NamedTuple):
    """One revision of an anchor; ``author`` is None for the imported text."""

    revision: int
    text: str
    author: str | None
    created_at: datetime


def find_anchors(
    session: Session, wanted: AnchorFilter, *, limit: int = 50, offset: int = 0
) -> AnchorPage:
    """The matching anchors, in the order in which they were added."""
    conditions = wanted.conditions(session)
    counted = select(func.count()).select_from(Anchor)
    if wanted.text:
        counted = counted.join(AnchorRevision, of_current_revision())
    total = session.execute(counted.where(*conditions)).scalar_one()
    query = _listed().where(*conditions).order_by(col(Anchor.id)).limit(limit).offset(offset)
    return AnchorPage(_found(session, query), total)


def page_of_anchors(
    session: Session, wanted: AnchorFilter, *, number: int, size: int
) -> NumberedPage:
    """The page with this number, or the last page if there are fewer.

    Args:
        size: anchors per page.
    """
    found = find_anchors(session, wanted, limit=size, offset=(number - 1) * size)
    if found.total and not found.anchors:
        number = -(-found.total // size)
        found = find_anchors(session, wanted, limit=size, offset=(number - 1) * size)
    return NumberedPage(number, found)


def one_anchor(session: Session, uid: str) -> FoundAnchor | None:
    """The anchor with this uid, if it exists, retired or not."""
    found = _found(session, _listed().where(col(Anchor.uid) == uid))
    return found[0] if found else None


def _listed() -> Select[*_Listed]:
    return (
        select(
            col(Anchor.id),
            col(Anchor.uid),
            col(AnchorRevision.text),
            col(Anchor.revision),
            col(Source.name),
            col(Source.licence),
            col(Anchor.genre),
            col(Anchor.language),
            col(Anchor.split),
            col(Anchor.document_id),
            col(Anchor.row_id),
            col(Anchor.retired_at),
        )
        .join(AnchorRevision, of_current_revision())
        .join(Source, col(Source.id) == col(Anchor.source_id))
    )


def _found(session: Session, query: Select[*_Listed]) -> list[FoundAnchor]:
    rows = session.execute(query).all()
    counts = _variants(session, [row[0] for row in rows])
    return [FoundAnchor(*row, counts.get(row[0], 0)) for row in rows]


def _variants(session: Session, anchor_ids: list[int]) -> dict[int, int]:
    query = (
        select(col(Variant.anchor_id), func.count())
        .where(col(Variant.anchor_id).in_(anchor_ids), col(Variant.status) != Status.SUPERSEDED)
        .group_by(col(Variant.anchor_id))
    )
    return dict(session.execute(query).all())


def anchor_history(session: Session, anchor_id: int) -> list[Revision]:
    """All revisions of an anchor, the first one first."""
    query = (
        select(
            col(AnchorRevision.revision),
            col(AnchorRevision.text),
            shown_name(),
            col(AnchorRevision.created_at),
        )
        .outerjoin(Reviewer, col(Reviewer.id) == col(AnchorRevision.author_id))
        .where(col(AnchorRevision.anchor_id) == anchor_id)
        .order_by(col(AnchorRevision.revision))
    )
    return [Revision(*row) for row in session.execute(query)]


def known_sources(session: Session) -> list[str]:
    """The names of all sources in alphabetical order."""
    return list(source_ids(session))


def source_ids(session: Session) -> dict[str, int]:
    """Source name → id, in alphabetical order."""
    query = select(col(Source.name), col(Source.id)).order_by(col(Source.name))
    return dict(session.execute(query).all())


def source_named(session: Session, name: str) -> int:
    """The id of the source with this name; case is ignored if no other source matches.

    Raises:
        HedgerowError: there is none.
    """
    known = source_ids(session)
    found = known.get(name) or next(
        (number for other, number in known.items() if other.lower() == name.lower()), None
    )
    if found is None:
        names = ", ".join(list(known)[:SHOWN]) + (", …" if len(known) > SHOWN else "")
        raise HedgerowError(
            f"Expected a source of anchors ({names or 'there are none yet'}), found {name[:80]!r}."
        )
    return found


def known_genres(session: Session) -> list[str]:
    """The genres of anchors in alphabetical order."""
    query = select(col(Anchor.genre)).where(col(Anchor.genre) != "").distinct()
    return sorted(session.execute(query).scalars())


class FilterChoices(NamedTuple):
    """Values for filtering anchors, in alphabetical order."""

    sources: list[str]
    genres: list[str]


def filter_choices(session: Session) -> FilterChoices:
    """The sources and genres of anchors."""
    return FilterChoices(known_sources(session), known_genres(session))


def count_in_use(session: Session, source_id: int | None = None) -> int:
    """Number of anchors in use, of one source or of all."""
    query = select(func.count()).where(
        col(Anchor.retired_at).is_(None), limited_to(col(Anchor.source_id), source_id)
    )
    return session.execute(query).scalar_one()


def has_anchors(session: Session) -> bool:
    """Whether any anchor is in use."""
    query = select(col(Anchor.id)).where(col(Anchor.retired_at).is_(None)).limit(1)
    return session.execute(query).first() is not None
