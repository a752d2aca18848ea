"""The number of decisions a reviewer has made today, and their pace."""

import time
from dataclasses import dataclass, field

from curation.formatting import counted

PAUSE_SECONDS = 300
"""A longer time between two decisions counts as a break and is left out of the pace."""

LATEST = 20
"""Number of latest decisions that give the pace."""


@dataclass
class ReviewPace:
    """Today's actions of one reviewer. A bulk action counts once.

    Attributes:
        actions: their ids, without undone ones.
        moments: the latest ones since the last break, with their times (monotonic seconds).
    """

    actions: set[str] = field(default_factory=set)
    moments: list[tuple[str, float]] = field(default_factory=list)

    def did(self, action_id: str) -> None:
        """Add an action done just now."""
        moment = time.monotonic()
        if self.moments and moment - self.moments[-1][1] > PAUSE_SECONDS:
            self.moments.clear()
        self.moments = [*self.moments[-LATEST:], (action_id, moment)]
        self.actions.add(action_id)

    def undid(self, action_id: str) -> None:
        """Remove an action that was undone."""
        self.actions.discard(action_id)
        self.moments = [(done, moment) for done, moment in self.moments if done != action_id]

    @property
    def a_minute(self) -> float | None:
        """Actions per minute, over the latest ones; None if there are fewer than five."""
        if len(self.moments) < 5:
            return None
        seconds = self.moments[-1][1] - self.moments[0][1]
        return 60 * (len(self.moments) - 1) / max(seconds, 0.001)

    def summary(self) -> str:
        """One short phrase; empty before the first decision of the day."""
        if not self.actions:
            return ""
        number = len(self.actions)
        today = f"{counted(number, 'decision')} today"
        return today if self.a_minute is None else f"{today}, about {self.a_minute:.0f} a minute"
