"""Taking back what a reviewer did, in one window. No widgets here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import Undone
from curation.review.browser_window.queue_position import Panel, QueuePosition
from db.engine import writing
from db.errors import HedgerowError

_TYPING = (Panel.EDIT, Panel.REJECT, Panel.NOTE, Panel.DISCUSS, Panel.WRITE)


class SkippedCard(NamedTuple):
    """A card that was left undecided, and when."""

    variant_id: int
    at: datetime


@dataclass
class Undoing(QueuePosition):
    """A reviewer's place, and what Z does there.

    Attributes:
        skips: in the order of time; one taken into a selection since then is no longer skipped.
    """

    skips: list[SkippedCard] = field(default_factory=list)

    @property
    def typing(self) -> bool:
        """Whether an editor is open, so that keys are text; a late key may still come in."""
        return self.panel in _TYPING

    def undo(self) -> None:
        """Z: take back the last thing this reviewer did, however long ago, and show its card.

        What is stored may come from another window or an earlier day; skips are this window's.
        """
        if self.typing:
            return
        skip = next((s for s in reversed(self.skips) if s.variant_id in self.skipped), None)
        after = skip and skip.at
        undone = self._take_back(
            lambda session: actions.undo(session, reviewer_id=self.reviewer_id, after=after)
        )
        if undone or self.warn:
            return
        if skip is None:
            self.say("There is nothing left to take back.")
            return
        self.skips.remove(skip)
        self.skipped.discard(skip.variant_id)
        self.pin(skip.variant_id)
        self.say("You took back your skip.")

    def take_back(self, action_id: str) -> None:
        """Take back one of the last decisions, not the latest alone, and show its card."""
        self._take_back(
            lambda session: actions.retract_action(session, action_id, reviewer_id=self.reviewer_id)
        )

    def _take_back(self, do: Callable[[Session], Undone | None]) -> bool:
        """Whether anything was taken back; what went wrong is said."""
        self.warn = False
        try:
            with writing(self.engine) as session:
                undone = do(session)
                if undone is not None:
                    self._worked(session, undone.changes)
                if undone is not None and self.selection is not None:
                    self.selection.reopened(session, undone.changes)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return False
        if undone is None:
            return False
        self.pace.undid(undone.action_id)
        self._count(undone.changes)
        self.pin(undone.variant_id)
        self.skipped.discard(undone.variant_id)
        self.say(str(undone))
        return True
