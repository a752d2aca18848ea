"""Leases: which card is on whose screen, so that two windows don't decide on the same one.

A card on a screen is leased to its window for a few minutes, by the database's clock. Queues skip
cards that other windows have leased. A lease forbids nothing: a late decision is stored, and both
reviewers see a message. Expired leases are ignored.
"""

import os
import socket
import uuid
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Executable, bindparam, delete, literal, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.reviewers import shown_name, whose
from db.columns import db_later, db_now
from db.models import Lease, Reviewer, Variant
from db.runs import has_ended

LEASE = timedelta(minutes=5)
"""How long a card stays leased without activity in its window."""

_SERVER = uuid.uuid4().hex
"""An id for this process. In containers, process numbers often repeat."""


class Holder(NamedTuple):
    """The reviewer at a window."""

    reviewer_id: int
    name: str


class Taken(NamedTuple):
    """The result of ``take_next``.

    Attributes:
        variant_id: the leased variant; None if other windows have all that is left.
        others: the result of ``on_other_screens``.
    """

    variant_id: int | None
    others: dict[int, Holder]


# Built once: each decision needs these, and building a statement takes longer than executing it.
_GIVE_BACK = delete(Lease).where(
    col(Lease.window) == bindparam("mine"),
    col(Lease.variant_id).not_in(bindparam("kept", expanding=True)),
)
_OTHERS = (
    select(col(Lease.variant_id), whose(), shown_name())
    .join(Reviewer, col(Reviewer.id) == col(Lease.reviewer_id))
    .where(col(Lease.window) != bindparam("mine"), col(Lease.until) > db_now())
)


def _taking(dialect: Any) -> Executable:
    given: dict[str, Any] = {
        name: bindparam(name) for name in ("variant_id", "reviewer_id", "window")
    }
    until = db_later(literal(LEASE.total_seconds()))
    rows = dialect.insert(Lease).values(**given, until=until)
    new = rows.excluded
    statement: Executable = rows.on_conflict_do_update(
        index_elements=["variant_id"],
        set_={"reviewer_id": new.reviewer_id, "window": new.window, "until": new.until},
        where=or_(col(Lease.window) == new.window, col(Lease.until) <= db_now()),
    ).returning(col(Lease.variant_id))
    return statement


_TAKE = {"sqlite": _taking(sqlite), "postgresql": _taking(postgresql)}


def take(
    session: Session, variant_ids: Iterable[int], *, window: str, reviewer_id: int
) -> set[int]:
    """Lease these variants to a window and release all others that it has.

    Returns:
        The ids that it has now; the others are on another window's screen.
    """
    ids = sorted(set(variant_ids))
    connection = session.connection()
    connection.execute(_GIVE_BACK, {"mine": window, "kept": ids})
    if not ids:
        return set()
    mine = {"reviewer_id": reviewer_id, "window": window}
    rows = [{"variant_id": key} | mine for key in ids]
    return set(connection.execute(_TAKE[connection.dialect.name], rows).scalars())


def take_next(
    session: Session,
    find: Callable[[Collection[int]], int | None],
    is_left: Callable[[int], bool],
    *,
    window: str,
    reviewer_id: int,
    by_family: bool = False,
) -> Taken:
    """Lease the first variant of a queue that no other window has.

    Args:
        find: returns the first variant of the queue, without those in its argument.
        is_left: whether a variant is still in the queue. On PostgreSQL, another window may decide
            on it and release it between ``find`` and the lease. SQLite has only one writer.
        by_family: lease all variants of its anchor, and skip families that others have.
    """
    sole_writer = session.get_bind().dialect.name == "sqlite"
    while True:
        others = on_other_screens(session, window)
        found = find(families_of(session, others) if by_family else others.keys())
        if found is None:
            take(session, (), window=window, reviewer_id=reviewer_id)
            return Taken(None, others)
        ids = families_of(session, [found]) if by_family else {found}
        taken = take(session, ids, window=window, reviewer_id=reviewer_id)
        if found in taken and (sole_writer or is_left(found)):
            return Taken(found, others)


def on_other_screens(session: Session, window: str) -> dict[int, Holder]:
    """The variants on the screens of other windows, with their reviewers."""
    rows = session.connection().execute(_OTHERS, {"mine": window})
    return {variant_id: Holder(reviewer_id, name) for variant_id, reviewer_id, name in rows}


def families_of(session: Session, variant_ids: Collection[int]) -> set[int]:
    """The ids of all variants of these variants' anchors."""
    if not variant_ids:
        return set()
    anchors = select(col(Variant.anchor_id)).where(col(Variant.id).in_(variant_ids))
    query = select(col(Variant.id)).where(col(Variant.anchor_id).in_(anchors))
    return set(session.execute(query).scalars())


def new_window() -> str:
    """A unique name for a window that also identifies the process that serves it."""
    return f"{uuid.uuid4().hex}/{_SERVER}/{os.getpid()}/{socket.gethostname()}"


def closed_windows(session: Session) -> set[str]:
    """The windows with leases whose server process on this host has ended, as after a crash."""
    windows = session.execute(select(col(Lease.window)).distinct()).scalars()
    return {window for window in windows if is_closed(window)}


def release_closed(session: Session, windows: Collection[str]) -> None:
    """Release the cards of these windows and of windows whose server has ended."""
    release(session, {*windows, *closed_windows(session)})


def is_served_here(window: str) -> bool:
    """Whether this process serves or served the window."""
    return window.split("/", 3)[1] == _SERVER


def is_closed(window: str) -> bool:
    """Whether the window's server was on this host and has ended."""
    _, server, pid, host = window.split("/", 3)
    if (host, int(pid)) == (socket.gethostname(), os.getpid()):
        return server != _SERVER
    return has_ended(host, int(pid))


def release(session: Session, windows: Collection[str]) -> None:
    """Release the leases of these windows, and the expired leases of all windows."""
    theirs = select(col(Lease.variant_id)).where(col(Lease.window).in_(windows))
    expired = select(col(Lease.variant_id)).where(col(Lease.until) <= db_now())
    # On PostgreSQL, a window that looks for its next card locks the leases of others for a moment.
    # Wait for these locks, in the order in which ``take`` locks: a lease that is passed over would
    # hold its card for minutes. An expired lease that is locked is being renewed or taken.
    for leases in (
        theirs.order_by(col(Lease.variant_id)).with_for_update(),
        expired.with_for_update(skip_locked=True),
    ):
        session.execute(delete(Lease).where(col(Lease.variant_id).in_(leases)))
