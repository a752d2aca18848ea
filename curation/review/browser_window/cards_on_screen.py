"""The cards on this window's screen, announced to other windows through the database."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.decisions import leases
from db.engine import writing

RENEW_SECONDS = 60.0
"""Age after which a lease, which lasts five minutes, is renewed when the page is redrawn."""


@dataclass
class Screen:
    """The leases of one window. Two windows of one reviewer are two screens.

    Attributes:
        held: ids of the variants on the screen, even if another window has them leased.
        since: time of the lease (monotonic seconds).
        others: the variants on other windows' screens at that time.
    """

    reviewer_id: int
    window: str = field(default_factory=leases.new_window)
    held: frozenset[int] = frozenset()
    since: float = 0.0
    others: dict[int, leases.Holder] = field(default_factory=dict)

    def has(self, variant_id: int) -> bool:
        """Whether this variant is on the screen and its lease is recent."""
        return variant_id in self.held and time.monotonic() - self.since < RENEW_SECONDS

    def put(self, session: Session, variant_ids: Iterable[int]) -> bool:
        """Lease these variants instead of the current ones. False if others have some of them."""
        self._hold(variant_ids)
        self.others = leases.on_other_screens(session, self.window)
        taken = leases.take(session, self.held, window=self.window, reviewer_id=self.reviewer_id)
        return taken == self.held

    def put_next(
        self,
        session: Session,
        find: Callable[[Collection[int]], int | None],
        is_left: Callable[[int], bool],
        *,
        by_family: bool,
    ) -> int | None:
        """Lease the next variant, optionally with its family (see ``leases.take_next``)."""
        found, self.others = leases.take_next(
            session,
            find,
            is_left,
            window=self.window,
            reviewer_id=self.reviewer_id,
            by_family=by_family,
        )
        self._hold([] if found is None else [found])
        return found

    def _hold(self, variant_ids: Iterable[int]) -> None:
        self.held, self.since = frozenset(variant_ids), time.monotonic()

    def clear(self, engine: Engine) -> None:
        """Release the leases."""
        if self.held:
            self.held = frozenset()
            with writing(engine) as session:
                leases.release(session, [self.window])
