"""How many decisions a reviewer has made today, and how fast."""

import time
from dataclasses import dataclass, field

PAUSE_SECONDS = 300
"""A longer time between two decisions was a break and says nothing about the pace."""

LATEST = 20
"""Decisions that the pace is taken from."""


@dataclass
class ReviewPace:
    """Today's actions of one reviewer, bulk actions counted once.

    Attributes:
        actions: their ids; an undo takes them out again.
        moments: which were the latest ones since the last break, and when (monotonic seconds).
    """

    actions: set[str] = field(default_factory=set)
    moments: list[tuple[str, float]] = field(default_factory=list)

    def did(self, action_id: str) -> None:
        """Count an action done just now."""
        moment = time.monotonic()
        if self.moments and moment - self.moments[-1][1] > PAUSE_SECONDS:
            self.moments.clear()
        self.moments = [*self.moments[-LATEST:], (action_id, moment)]
        self.actions.add(action_id)

    def undid(self, action_id: str) -> None:
        """Count an action that was taken back no longer."""
        self.actions.discard(action_id)
        self.moments = [(done, moment) for done, moment in self.moments if done != action_id]

    @property
    def a_minute(self) -> float | None:
        """Actions a minute, over the latest ones; None before there are five."""
        if len(self.moments) < 5:
            return None
        seconds = self.moments[-1][1] - self.moments[0][1]
        return 60 * (len(self.moments) - 1) / max(seconds, 0.001)

    def told(self) -> str:
        """One short sentence; empty before the first decision of the day."""
        if not self.actions:
            return ""
        number = len(self.actions)
        said = f"{number:,} {'decision' if number == 1 else 'decisions'} today"
        return said if self.a_minute is None else f"{said}, about {self.a_minute:.0f} a minute"
