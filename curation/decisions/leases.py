"""Leases: which card is on whose screen, so that two windows don't decide on the same one.

A card on a screen is leased to its window for a few minutes, by the database's clock. Queues skip
cards that other windows have leased. A lease forbids nothing: a late decision is stored, and both
reviewers see a message. Expired leases are ignored.
"""

import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Engine, Executable, bindparam, delete, literal, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.reviewers import person_id_now, shown_name
from db.columns import db_later, db_now
from db.engine import writing
from db.models import Lease, Reviewer, Variant
from db.runs import has_ended

LEASE = timedelta(minutes=5)
"""How long a card stays leased without activity in its window."""

RENEW_SECONDS = 60.0
"""Age after which a lease is renewed when the page is redrawn."""

_SERVER = uuid.uuid4().hex
"""An id for this process. In containers, process numbers often repeat."""


class Holder(NamedTuple):
    """The reviewer at a window."""

    reviewer_id: int
    name: str


# Built once: each decision needs these, and building a statement takes longer than executing it.
_GIVE_BACK = delete(Lease).where(
    col(Lease.window) == bindparam("mine"),
    col(Lease.variant_id).not_in(bindparam("kept", expanding=True)),
)
_OTHERS = (
    select(col(Lease.variant_id), person_id_now(), shown_name())
    .join(Reviewer, col(Reviewer.id) == col(Lease.reviewer_id))
    .where(col(Lease.window) != bindparam("mine"), col(Lease.until) > db_now())
)


def _taking(dialect: Any) -> Executable:
    given: dict[str, Any] = {
        name: bindparam(name) for name in ("variant_id", "reviewer_id", "window")
    }
    rows = dialect.insert(Lease).values(**given, until=db_later(literal(LEASE.total_seconds())))
    new = rows.excluded
    statement: Executable = rows.on_conflict_do_update(
        index_elements=["variant_id"],
        set_={"reviewer_id": new.reviewer_id, "window": new.window, "until": new.until},
        where=or_(col(Lease.window) == new.window, col(Lease.until) <= db_now()),
    ).returning(col(Lease.variant_id))
    return statement


_TAKE = {"sqlite": _taking(sqlite), "postgresql": _taking(postgresql)}


def new_window() -> str:
    """A unique name for a window that also identifies the process that serves it."""
    return f"{uuid.uuid4().hex}/{_SERVER}/{os.getpid()}/{socket.gethostname()}"


@dataclass
class Screen:
    """The leases of one window. Two windows of one reviewer are two screens.

    Attributes:
        held: ids of the variants on the screen, even if another window has them leased.
        since: time of the lease (monotonic seconds).
        others: the variants on other windows' screens at that time.
    """

    reviewer_id: int
    window: str = field(default_factory=new_window)
    held: frozenset[int] = frozenset()
    since: float = 0.0
    others: dict[int, Holder] = field(default_factory=dict)

    def has(self, variant_id: int) -> bool:
        """Whether this variant is on the screen and its lease is recent."""
        return variant_id in self.held and time.monotonic() - self.since < RENEW_SECONDS

    def put(self, session: Session, variant_ids: Iterable[int]) -> set[int]:
        """Lease these variants, and release all others that the window has.

        Returns:
            The ids that it has now; the others are on another window's screen.
        """
        self.others = on_other_screens(session, self.window)
        return self._take(session, variant_ids)

    def put_next(
        self,
        session: Session,
        find: Callable[[Collection[int]], int | None],
        is_left: Callable[[int], bool],
        *,
        by_family: bool = False,
    ) -> int | None:
        """Lease the first variant of a queue that no other window has, and return its id, if any.

        Args:
            find: returns the first variant of the queue, without those in its argument.
            is_left: whether a variant is still in the queue. On PostgreSQL, another window may
                decide on it and release it between ``find`` and the lease. SQLite has only one
                writer.
            by_family: lease all variants of its anchor, and skip families that others have.
        """
        sole_writer = session.get_bind().dialect.name == "sqlite"
        while True:
            self.others = on_other_screens(session, self.window)
            passed = families_of(session, self.others) if by_family else self.others.keys()
            found = find(passed)
            if found is None:
                self._take(session, ())
                return None
            taken = self._take(session, families_of(session, [found]) if by_family else {found})
            if found in taken and (sole_writer or is_left(found)):
                return found

    def _take(self, session: Session, variant_ids: Iterable[int]) -> set[int]:
        self.held, self.since = frozenset(variant_ids), time.monotonic()
        connection = session.connection()
        connection.execute(_GIVE_BACK, {"mine": self.window, "kept": sorted(self.held)})
        if not self.held:
            return set()
        mine = {"reviewer_id": self.reviewer_id, "window": self.window}
        rows = [{"variant_id": key} | mine for key in sorted(self.held)]
        return set(connection.execute(_TAKE[connection.dialect.name], rows).scalars())

    def clear(self, engine: Engine) -> None:
        """Release the leases."""
        if self.held:
            self.held = frozenset()
            with writing(engine) as session:
                release(session, [self.window])


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


def release_closed(session: Session, windows: Collection[str]) -> None:
    """Release the cards of these windows, and of windows whose server process on this host has
    ended, as after a crash."""
    leased = session.execute(select(col(Lease.window)).distinct()).scalars()
    release(session, {*windows, *filter(is_closed, leased)})


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
