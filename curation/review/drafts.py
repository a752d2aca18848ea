"""What a reviewer's window keeps in the database: drafts of texts, and its position."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Engine, Executable, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions import leases
from curation.review.queue import Order, Queue
from db.columns import db_now, now
from db.engine import reading, writing
from db.models import Draft, ReviewPosition

Fields = Mapping[str, str]
"""The contents of an editor's fields, by name."""


class DraftKind(StrEnum):
    """The editor that a draft was typed in."""

    EDIT = "edit"
    SUGGESTION = "suggestion"
    REJECT = "reject"
    NOTE = "note"
    WRITE = "write"
    DISCUSS = "discuss"


DECIDING = (DraftKind.EDIT, DraftKind.SUGGESTION, DraftKind.REJECT)
"""Drafts that are deleted when the card is decided. Notes and own variants are kept."""


def find_draft(
    session: Session, variant_id: int, kind: DraftKind, *, reviewer_id: int
) -> dict[str, str]:
    """The reviewer's draft in this editor; empty if there is none."""
    row = session.get(Draft, (reviewer_id, variant_id, kind.value))
    return {} if row is None else dict(row.fields)


class FoundDraft(NamedTuple):
    """A draft: its editor and the contents of its fields."""

    kind: DraftKind
    fields: dict[str, str]


def newest_draft(session: Session, variant_id: int, *, reviewer_id: int) -> FoundDraft | None:
    """The reviewer's latest draft on a card, or None."""
    query = (
        select(Draft)
        .where(col(Draft.reviewer_id) == reviewer_id, col(Draft.variant_id) == variant_id)
        .order_by(col(Draft.typed_at).desc())
    )
    row = session.execute(query.limit(1)).scalar()
    return None if row is None else FoundDraft(DraftKind(row.kind), dict(row.fields))


def drafted_variants(session: Session, *, reviewer_id: int) -> set[int]:
    """The ids of the variants on which the reviewer has a draft."""
    query = select(col(Draft.variant_id)).where(col(Draft.reviewer_id) == reviewer_id)
    return set(session.execute(query).scalars())


def keep_draft(
    session: Session, variant_id: int, kind: DraftKind, fields: Fields, *, reviewer_id: int
) -> None:
    """Store the contents of the editor, replacing the draft before.

    Null characters are removed, because PostgreSQL cannot store them.
    """
    session.merge(
        Draft(
            reviewer_id=reviewer_id,
            variant_id=variant_id,
            kind=kind.value,
            fields={name: value.replace("\0", "") for name, value in fields.items()},
            typed_at=now(),
        )
    )


@dataclass
class Drafts:
    """A reviewer's drafts in one window, and that of the open editor.

    Attributes:
        known: ids of the variants with a draft of this reviewer; a decision on any other needs no
            look for drafts.
        begun: form, card and editor of the open editor, and its initial contents.
        stored: the stored contents of the open editor.
    """

    engine: Engine
    reviewer_id: int
    known: set[int] = field(default_factory=set)
    begun: tuple[tuple[str, int, DraftKind] | None, dict[str, str]] = (None, {})
    stored: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        """Read which variants have drafts. After that, ``known`` is kept up to date."""
        with reading(self.engine) as session:
            self.known = drafted_variants(session, reviewer_id=self.reviewer_id)

    def begin(self, form_id: str, variant_id: int, kind: DraftKind) -> dict[str, str]:
        """The draft that the open editor starts with; empty if there is none."""
        form = (form_id, variant_id, kind)
        if self.begun[0] != form:
            with reading(self.engine) as session:
                found = find_draft(session, variant_id, kind, reviewer_id=self.reviewer_id)
            self.begun, self.stored = (form, found), found
        return self.begun[1]

    def keep(self, variant_id: int, kind: DraftKind, fields: Fields, *, untouched: Fields) -> None:
        """Store the contents of the open editor as a draft, unless they equal ``untouched``.

        Raises:
            HedgerowError: that fails. The browser still has the text.
        """
        wanted = {} if fields == untouched else dict(fields)
        if wanted == self.stored:
            return
        with writing(self.engine) as session:
            if wanted:
                keep_draft(session, variant_id, kind, wanted, reviewer_id=self.reviewer_id)
            else:
                self._delete(session, variant_id, [kind])
        self.stored = wanted
        if wanted:
            self.known.add(variant_id)

    def forget(self, variant_id: int, kinds: Collection[DraftKind]) -> None:
        """Delete the drafts in these editors."""
        if variant_id in self.known:
            with writing(self.engine) as session:
                self._delete(session, variant_id, kinds)
        self.begun, self.stored = (None, {}), {}

    def decided(self, session: Session, variant_id: int) -> None:
        """After a decision on a card, delete drafts of other decisions on it."""
        if variant_id in self.known:
            self._delete(session, variant_id, DECIDING)

    def _delete(self, session: Session, variant_id: int, kinds: Collection[DraftKind]) -> None:
        session.execute(
            delete(Draft).where(
                col(Draft.reviewer_id) == self.reviewer_id,
                col(Draft.variant_id) == variant_id,
                col(Draft.kind).in_([kind.value for kind in kinds]),
            )
        )


# -- positions ------------------------------------------------------------------------------------


KEPT_FOR = timedelta(days=30)
"""How long an unused position is kept."""


class Place(NamedTuple):
    """What a window reviews. The type and the source are None for all."""

    queue: Queue
    type_id: str | None
    source_id: int | None
    order: Order
    by_family: bool

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> "Place | None":
        """The place from a stored dictionary; None if another version of Hedgerow stored it."""
        try:
            return cls(**(kept | {"queue": Queue(kept["queue"]), "order": Order(kept["order"])}))
        except (KeyError, TypeError, ValueError):
            return None


class StoredPosition(NamedTuple):
    """A window's place and its card. ``variant_id`` is None if the queue was empty."""

    window: str
    place: Place
    variant_id: int | None


def _keeping(dialect: Any) -> Executable:
    names = ("window", "reviewer_id", "variant_id", "place")
    rows = dialect.insert(ReviewPosition).values(
        **{name: bindparam(name) for name in names}, seen_at=db_now()
    )
    new = rows.excluded
    statement: Executable = rows.on_conflict_do_update(
        index_elements=["window"],
        set_={name: new[name] for name in ("variant_id", "place", "seen_at")},
    )
    return statement


# Built once, like the statements in ``leases``, because each decision executes one.
_KEEP = {"sqlite": _keeping(sqlite), "postgresql": _keeping(postgresql)}


def keep_position(session: Session, position: StoredPosition, *, reviewer_id: int) -> None:
    """Store the position of a window."""
    connection = session.connection()
    values = position._asdict() | {"reviewer_id": reviewer_id, "place": position.place._asdict()}
    connection.execute(_KEEP[connection.dialect.name], values)


def left_positions(
    session: Session, *, reviewer_id: int, is_open: Callable[[str], bool]
) -> list[StoredPosition]:
    """The reviewer's positions that belong to no open window, newest first.

    A window of another server counts as closed when its server is known to have ended, when the
    lease of its card has expired, or if the reviewer has a draft on its card, which would otherwise
    be out of reach until then.

    Args:
        is_open: whether a window that this process serves is open.
    """
    drafted = drafted_variants(session, reviewer_id=reviewer_id)
    query = (
        select(ReviewPosition, db_now())
        .where(col(ReviewPosition.reviewer_id) == reviewer_id)
        .order_by(col(ReviewPosition.seen_at).desc())
    )
    found = []
    for row, moment in session.execute(query):
        if leases.is_served_here(row.window):
            is_left = not is_open(row.window)
        else:
            is_lapsed = row.seen_at + leases.LEASE <= moment
            has_draft = row.variant_id in drafted
            is_left = is_lapsed or has_draft or leases.is_closed(row.window)
        if is_left and (place := Place.of_json(row.place)) is not None:
            found.append(StoredPosition(row.window, place, row.variant_id))
    return found


def take_over(session: Session, window: str) -> None:
    """Delete a position from which another window continues, and release its card."""
    leases.release(session, [window])
    old = (col(ReviewPosition.window) == window) | (col(ReviewPosition.seen_at) < now() - KEPT_FOR)
    session.execute(delete(ReviewPosition).where(old))
