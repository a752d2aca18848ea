"""Undo in one window. There are no widgets here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import Undone
from curation.review.browser_window.drafting import Drafting
from curation.review.browser_window.queue_position import Panel
from db.engine import writing
from db.errors import HedgerowError

_TYPING = (Panel.EDIT, Panel.REJECT, Panel.NOTE, Panel.DISCUSS, Panel.WRITE)


class SkippedCard(NamedTuple):
    """A skipped card, and when it was skipped."""

    variant_id: int
    at: datetime


@dataclass
class Undoing(Drafting):
    """A reviewer's position, and the action of Z there.

    Attributes:
        skips: skipped cards in order of time. A selection that contains a card cancels its skip.
    """

    skips: list[SkippedCard] = field(default_factory=list)

    @property
    def typing(self) -> bool:
        """Whether an editor is open, so that keys are text. Late keys may still arrive."""
        return self.panel in _TYPING

    def undo(self) -> None:
        """Z: undo the last thing this reviewer did, however long ago, and show its card.

        Stored actions include those of other windows and earlier days; skips are this window's.
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
            self.say("There is nothing left to undo.")
            return
        self.skips.remove(skip)
        self.skipped.discard(skip.variant_id)
        self.pin(skip.variant_id)
        self.say("Skip undone.")

    def take_back(self, action_id: str) -> None:
        """Undo any one of the latest decisions, and show its card."""
        self._take_back(
            lambda session: actions.retract_action(session, action_id, reviewer_id=self.reviewer_id)
        )

    def _take_back(self, do: Callable[[Session], Undone | None]) -> bool:
        """Undo something and show its card, or the error. Return whether anything was undone."""
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
        self.drafted.add(undone.variant_id)  # an undone edit is a draft again
        self.pace.undid(undone.action_id)
        self._count(undone.changes)
        self.pin(undone.variant_id)
        self.skipped.discard(undone.variant_id)
        self.say(str(undone))
        return True
