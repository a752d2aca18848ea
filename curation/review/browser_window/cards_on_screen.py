"""The cards on this window's screen, as other windows learn of them through the database."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review import leases
from db.engine import writing

RENEW_SECONDS = 60.0
"""A lease older than this is renewed when the page is drawn again; it lasts for five minutes."""


@dataclass
class Screen:
    """What one window has leased. Two windows of one reviewer are two screens.

    Attributes:
        held: ids of the variants on the screen, whether or not another window has them, too.
        since: when they were leased (monotonic seconds).
        others: what was on other windows' screens then.
    """

    reviewer_id: int
    window: str = field(default_factory=leases.new_window)
    held: frozenset[int] = frozenset()
    since: float = 0.0
    others: dict[int, leases.Holder] = field(default_factory=dict)

    def has(self, variant_id: int) -> bool:
        """Whether this variant was put on the screen a short while ago."""
        return variant_id in self.held and time.monotonic() - self.since < RENEW_SECONDS

    def put(self, session: Session, variant_ids: Iterable[int]) -> bool:
        """Lease these variants in place of what was there; False where others have some of them."""
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
        """Lease the next variant, with its family if asked for (see ``leases.take_next``)."""
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
        """Give back what is leased."""
        if self.held:
            self.held = frozenset()
            with writing(engine) as session:
                leases.release(session, [self.window])
