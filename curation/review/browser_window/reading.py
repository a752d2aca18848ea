"""The Review page for viewers: cards to read. Nothing is stored, and no card is leased."""

import time
from dataclasses import dataclass

from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.shown_now import CardView
from db.engine import reading


@dataclass
class ReadingState(ReviewState):
    """A viewer's position, of which other windows know nothing."""

    def view(self) -> CardView:
        """Read what to draw now."""
        variant_id = self.pinned or self.focus_id
        if variant_id is None:
            with reading(self.engine) as session:
                variant_id = self.focus_id = self._next(session, self.skipped)
        if variant_id is None:
            self.showings = {}
            return CardView((), None)
        # Pretend that the card is leased already, so that it is not leased.
        self.screen.held, self.screen.since = frozenset({variant_id}), time.monotonic()
        return super().view()

    def go_on(self) -> None:
        """Show the next card of the queue. Earlier ones come again at the next visit."""
        shown = self.pinned or self.focus_id
        if shown is not None:
            self.skipped.add(shown)
        self._move_to(None)

    def leave(self) -> None:
        """Do nothing: there is no lease to release."""
