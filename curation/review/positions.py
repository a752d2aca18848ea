"""Reviewers' positions in their windows, so that a new window continues where one was lost.

A window stores its position with each card that it shows. After a lost connection, a restart of the
server or on another server, a new window takes over the newest position of the same reviewer that
belongs to no open window. Open windows keep their own positions.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review import leases
from curation.review.drafts import drafted_variants
from curation.review.queue import Order, Queue
from db.columns import db_now, now
from db.models import ReviewPosition

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
