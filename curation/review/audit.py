"""Read the audit trail: decisions, notes, marks, anchor corrections and releases, newest first.

Nothing is counted. A page of decisions is read backwards by id, which grows with time, so it takes
no longer in a large project. Changes to settings are not recorded.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.search import RANKED, SearchKind, matches
from curation.decisions.history import last_before
from curation.decisions.reviewers import is_by, shown_name
from curation.decisions.storing import RULE
from db.columns import limited_to
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    DiscussMark,
    Note,
    NoteRetraction,
    Release,
    Reviewer,
    Source,
    Variant,
    Verdict,
)

# -- Entries of the audit trail, and filters for them ---------------------------------------------


class Kind(StrEnum):
    """The kind of action."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    SETTLE = "settle"
    RULE = "rule"
    UNDO = "undo"
    NOTE = "note"
    DISCUSS = "discuss"
    CORRECTION = "anchor correction"
    RELEASE = "release"


class Filters(NamedTuple):
    """Filters. None and '' keep everything.

    Attributes:
        since, until: the start (inclusive) and the end (exclusive) of the period.
        text: a part of the variant's text, or its uid; for corrections, a part of the anchor's new
            text.
    """

    reviewer_id: int | None = None
    kind: Kind | None = None
    type_id: str | None = None
    source_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


class Entry(NamedTuple):
    """An action.

    Attributes:
        who: a name; '' if unknown.
        detail: depending on the kind: verdict, reason and note; the undone verdict; the note; the
            kind of mark and its remark; the anchor's old text; or number and name of the release.
        uid: the variant's; '' for corrections and releases.
        text: the variant's, or the anchor's new text.
    """

    at: datetime
    who: str
    kind: Kind
    detail: str
    uid: str = ""
    type_id: str = ""
    source: str = ""
    text: str = ""

    def facts(self) -> dict[str, str]:
        """The entry as JSON data."""
        return dict(zip(COLUMNS, self.row(), strict=True))

    def row(self) -> tuple[str, ...]:
        """The values in the order of `COLUMNS`."""
        return (self.at.isoformat(), *self[1:2], self.kind.value, *self[3:])


COLUMNS = ("at", "reviewer", "kind", "detail", "uid", "type", "source", "text")


# -- reading --------------------------------------------------------------------------------------


BATCH = 2000
"""Number of entries read at once when all are read."""

Place = Mapping[str, int]
"""How far each table has been read: the last id for decisions, the number of rows for others."""
START: Place = MappingProxyType({})


class Page(NamedTuple):
    """Some entries, and the place of the older ones; None if there are none."""

    entries: list[Entry]
    older: Place | None


_Found = list[tuple[int, Entry]]
"""Entries, each with how far its table has been read up to it."""


def page(session: Session, wanted: Filters, *, start: Place = START, limit: int) -> Page:
    """At most ``limit`` of the newest entries, or of those from a place on."""
    tables = [
        [(found, name, key) for key, found in read(session, wanted, start.get(name), limit + 1)]
        for name, read in _TABLES.items()
    ]
    merged = list(heapq.merge(*tables, key=lambda row: row[0].at, reverse=True))
    taken = merged[:limit]
    older = dict(start) | {name: key for _, name, key in taken}
    return Page([entry for entry, _, _ in taken], older if len(merged) > limit else None)


def entries(session: Session, wanted: Filters) -> Iterator[Entry]:
    """All entries, newest first, read in batches."""
    place: Place | None = START
    while place is not None:
        found, place = page(session, wanted, start=place, limit=BATCH)
        yield from found


def all_rows(session: Session, wanted: Filters) -> list[tuple[str, ...]]:
    """The values of all entries, for a file."""
    return [entry.row() for entry in entries(session, wanted)]


def _decisions(session: Session, wanted: Filters, before: int | None, limit: int) -> _Found:
    if wanted.kind in (Kind.NOTE, Kind.DISCUSS, Kind.CORRECTION, Kind.RELEASE):
        return []
    conditions = [
        *_of_variant(session, wanted, col(Decision.variant_id)),
        *_of_kind(wanted.kind),
        *_of_person(session, wanted, Decision.reviewer_id),
    ]
    if before is not None:
        conditions.append(col(Decision.id) < before)
    # Times have no index, but ids grow with them.
    if wanted.since is not None:
        conditions.append(col(Decision.id) > last_before(session, wanted.since))
    if wanted.until is not None:
        conditions.append(col(Decision.id) <= last_before(session, wanted.until))
    ids = select(col(Decision.id)).where(*conditions).order_by(col(Decision.id).desc())
    if wanted.type_id is not None or wanted.source_id is not None:
        ids = ids.join(Variant, col(Variant.id) == col(Decision.variant_id))
    retracted = aliased(Decision)
    query = (
        select(
            Decision,
            shown_name(),
            retracted,
            col(Variant.uid),
            col(Variant.type_id),
            col(Source.name),
            col(Variant.text),
        )
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Source, col(Source.id) == col(Variant.source_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .outerjoin(retracted, col(retracted.id) == col(Decision.retracts_id))
        .where(col(Decision.id).in_(list(session.execute(ids.limit(limit)).scalars())))
        .order_by(col(Decision.id).desc())
    )
    return [
        (row.id, Entry(row.decided_at, who, _kind(row), _detail(row, undone), *variant))
        for row, who, undone, *variant in session.execute(query)
    ]


def _kind(decision: Decision) -> Kind:
    if decision.verdict is Verdict.RETRACT:
        return Kind.UNDO
    if decision.note.startswith(RULE):
        return Kind.RULE
    return Kind.SETTLE if decision.adjudicates else Kind(decision.verdict.value)


def _of_kind(kind: Kind | None) -> list[ColumnElement[bool]]:
    """SQL: the conditions of `_kind`."""
    if kind is None:
        return []
    if kind is Kind.UNDO:
        return [col(Decision.retracts_id).is_not(None)]  # has an index
    by_rule = func.substr(col(Decision.note), 1, len(RULE)) == RULE
    if kind is Kind.RULE:
        return [by_rule, col(Decision.verdict) != Verdict.RETRACT]
    if kind is Kind.SETTLE:
        return [
            ~by_rule,
            col(Decision.adjudicates).is_(True),
            col(Decision.verdict) != Verdict.RETRACT,
        ]
    return [~by_rule, ~col(Decision.adjudicates), col(Decision.verdict) == Verdict(kind.value)]


def _detail(decision: Decision, undone: Decision | None) -> str:
    if undone is not None:  # as in 'undo: accept' or 'undo: settle accept'
        kind, verdict = _kind(undone), undone.verdict.value
        return verdict if kind == verdict else f"{kind} {verdict}"
    needs_verdict = _kind(decision) in (Kind.SETTLE, Kind.RULE)
    verdict = decision.verdict.value if needs_verdict else ""
    parts = (verdict, decision.reason.replace("_", " "), decision.note)
    return "; ".join(part for part in parts if part)


def _notes(session: Session, wanted: Filters, start: int | None, limit: int) -> _Found:
    if wanted.kind not in (None, Kind.NOTE):
        return []
    query = _remarks(session, wanted, Note, col(Note.text), col(NoteRetraction.retracted_at))
    query = query.outerjoin(NoteRetraction, col(NoteRetraction.note_id) == col(Note.id))
    return [
        (key, Entry(at, who, Kind.NOTE, note if gone is None else f"{note} (removed)", *variant))
        for key, (at, who, note, gone, *variant) in _counted(session, query, start, limit)
    ]


def _marks(session: Session, wanted: Filters, start: int | None, limit: int) -> _Found:
    if wanted.kind not in (None, Kind.DISCUSS):
        return []
    query = _remarks(session, wanted, DiscussMark, col(DiscussMark.kind), col(DiscussMark.remark))
    return [
        (key, Entry(at, who, Kind.DISCUSS, "; ".join(filter(None, (kind, remark))), *variant))
        for key, (at, who, kind, remark, *variant) in _counted(session, query, start, limit)
    ]


def _remarks(session: Session, wanted: Filters, table: Any, *columns: Any) -> Any:
    """SQL: the rows of a table of remarks on variants: when, who, ``columns``, and the variant."""
    return (
        select(
            col(table.created_at),
            shown_name(),
            *columns,
            col(Variant.uid),
            col(Variant.type_id),
            col(Source.name),
            col(Variant.text),
        )
        .select_from(table)
        .join(Variant, col(Variant.id) == col(table.variant_id))
        .join(Source, col(Source.id) == col(Variant.source_id))
        .join(Reviewer, col(Reviewer.id) == col(table.reviewer_id))
        .where(
            *_of_variant(session, wanted, col(table.variant_id)),
            *_of_person(session, wanted, table.reviewer_id),
            *_of_period(wanted, col(table.created_at)),
        )
        .order_by(col(table.id).desc())
    )


def _corrections(session: Session, wanted: Filters, start: int | None, limit: int) -> _Found:
    if wanted.kind not in (None, Kind.CORRECTION) or wanted.type_id is not None:
        return []
    former = aliased(AnchorRevision)
    conditions = [
        col(AnchorRevision.revision) > 1,
        *_of_person(session, wanted, AnchorRevision.author_id),
        *_of_period(wanted, col(AnchorRevision.created_at)),
        limited_to(col(Anchor.source_id), wanted.source_id),
    ]
    if wanted.text.strip():
        conditions.append(matches(session, wanted.text, SearchKind.ANCHORS))
    query = (
        select(
            col(AnchorRevision.created_at),
            func.coalesce(shown_name(), ""),
            col(former.text),
            col(Source.name),
            col(AnchorRevision.text),
        )
        .join(Anchor, col(Anchor.id) == col(AnchorRevision.anchor_id))
        .join(Source, col(Source.id) == col(Anchor.source_id))
        .join(
            former,
            and_(
                col(former.anchor_id) == col(AnchorRevision.anchor_id),
                col(former.revision) == col(AnchorRevision.revision) - 1,
            ),
        )
        .outerjoin(Reviewer, col(Reviewer.id) == col(AnchorRevision.author_id))
        .where(*conditions)
        .order_by(col(AnchorRevision.created_at).desc(), col(AnchorRevision.anchor_id).desc())
    )
    return [
        (key, Entry(at, who, Kind.CORRECTION, f"was: {old}", "", "", source, new))
        for key, (at, who, old, source, new) in _counted(session, query, start, limit)
    ]


def _releases(session: Session, wanted: Filters, start: int | None, limit: int) -> _Found:
    narrowed = wanted.type_id is not None or wanted.source_id is not None or wanted.text.strip()
    if wanted.kind not in (None, Kind.RELEASE) or narrowed:
        return []
    query = (
        select(
            col(Release.created_at),
            func.coalesce(shown_name(), ""),
            col(Release.number),
            col(Release.name),
        )
        .outerjoin(Reviewer, col(Reviewer.id) == col(Release.author_id))
        .where(
            col(Release.number) > 0,
            *_of_person(session, wanted, Release.author_id),
            *_of_period(wanted, col(Release.created_at)),
        )
        .order_by(col(Release.number).desc())
    )
    return [
        (key, Entry(at, who, Kind.RELEASE, f"release {number}{f': {name}' if name else ''}"))
        for key, (at, who, number, name) in _counted(session, query, start, limit)
    ]


def _of_variant(session: Session, wanted: Filters, column: Any) -> list[ColumnElement[bool]]:
    """SQL: the variant matches the filters for type, source and text."""
    conditions = [
        limited_to(col(Variant.type_id), wanted.type_id),
        limited_to(col(Variant.source_id), wanted.source_id),
    ]
    if wanted.text.strip():
        its = matches(session, wanted.text, SearchKind.VARIANTS)
        found = select(col(Variant.id)).where(its).order_by(col(Variant.id)).limit(RANKED)
        ids = list(session.execute(found).scalars())
        # Thousands of ids are faster as part of the statement than as parameters.
        conditions.append(column.in_(bindparam(None, ids, expanding=True, literal_execute=True)))
    return conditions


def _of_person(session: Session, wanted: Filters, column: Any) -> list[ColumnElement[bool]]:
    return [] if wanted.reviewer_id is None else [is_by(session, column, wanted.reviewer_id)]


def _of_period(wanted: Filters, at: Any) -> list[ColumnElement[bool]]:
    since = [] if wanted.since is None else [at >= wanted.since]
    return since if wanted.until is None else [*since, at < wanted.until]


def _counted(session: Session, query: Any, start: int | None, limit: int) -> Iterator[Any]:
    """The rows from ``start`` on, each with the number of rows read up to it."""
    first = start or 0
    return enumerate(session.execute(query.offset(first).limit(limit)), start=first + 1)


_TABLES: dict[str, Callable[[Session, Filters, int | None, int], _Found]] = {
    "decisions": _decisions,
    "notes": _notes,
    "marks": _marks,
    "corrections": _corrections,
    "releases": _releases,
}
