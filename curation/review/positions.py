"""Where reviewers are in their windows, so that a new window goes on where one was lost.

A window stores its place with each card that it shows. A new one takes over the newest place of the
same reviewer that no open window has: after a lost connection, a restart of the server, or on
another server. Two windows that are open stay two.
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
"""After this time a place that nobody has gone on from is forgotten."""


class Place(NamedTuple):
    """What a window goes through; type and source None for all."""

    queue: Queue
    type_id: str | None
    source_id: int | None
    order: Order
    by_family: bool

    @classmethod
    def of_json(cls, kept: dict[str, Any]) -> "Place | None":
        """What was stored as a dictionary; None where another version of Hedgerow stored it."""
        try:
            return cls(**(kept | {"queue": Queue(kept["queue"]), "order": Order(kept["order"])}))
        except (KeyError, TypeError, ValueError):
            return None


class StoredPosition(NamedTuple):
    """A place that a window was at, and its card; None where nothing was left."""

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


# Built once, as the statements of ``leases``: each decision carries one out.
_KEEP = {"sqlite": _keeping(sqlite), "postgresql": _keeping(postgresql)}


def keep_position(session: Session, position: StoredPosition, *, reviewer_id: int) -> None:
    """Store where a window is now."""
    connection = session.connection()
    values = position._asdict() | {"reviewer_id": reviewer_id, "place": position.place._asdict()}
    connection.execute(_KEEP[connection.dialect.name], values)


def left_positions(
    session: Session, *, reviewer_id: int, is_open: Callable[[str], bool]
) -> list[StoredPosition]:
    """The places of a reviewer that no window has any more, the newest first.

    A window of another server counts as gone once its server is known to have ended, or its card is
    leased no longer; and at once if the reviewer has a draft on its card, which would otherwise be
    out of reach for that time.

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
    """Forget a place that another window goes on from, and give back its card."""
    leases.release(session, [window])
    old = (col(ReviewPosition.window) == window) | (col(ReviewPosition.seen_at) < now() - KEPT_FOR)
    session.execute(delete(ReviewPosition).where(old))
