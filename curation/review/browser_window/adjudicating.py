"""The windows of people who settle conflicts, and of viewers, who only read."""

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from sqlalchemy.orm import Session

from curation.review.adjudication import (
    ConflictOrder,
    GivenVerdict,
    Wording,
    latest_of_each,
    ranked,
    verdicts_on,
    wordings,
)
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.shown_now import CardView
from curation.review.deciding import ShownCard
from curation.review.deciding import edit as edit_variant
from curation.review.drafts import Place
from curation.review.queue import Order, Queue, among, count_left
from db.engine import reading

_AT_ONCE = 20
"""Number of ids checked at once for the next card: others rarely settle some in the meantime."""


@dataclass
class AdjudicationState(ReviewState):
    """The position of somebody who settles conflicts.

    Attributes:
        conflict_order: the order of the conflicts.
        ranking: the conflicts, most disputed first, at the time of ranking; None before.
    """

    stores_position: ClassVar[bool] = False  # the Review page cannot continue from here

    queue: Queue = Queue.CONFLICT
    conflict_order: ConflictOrder = ConflictOrder.OLDEST
    ranking: list[int] | None = field(default=None)

    def choose(self, *, type_id: str | None, source_id: int | None, order: ConflictOrder) -> None:
        """Show these conflicts in this order. After a change, start with the first one."""
        if order is not self.conflict_order:
            self.conflict_order = order
            self.restart()
        self.go_to(Place(Queue.CONFLICT, type_id, source_id, Order.OLDEST, by_family=False))

    def restart(self) -> None:
        """Start with the first conflict, by a new ranking."""
        super().restart()
        self.ranking = None

    def _read_counts(self, session: Session) -> None:
        """Count only the conflicts, which is fast in a large project, too."""
        self.left = {queue: Counter() for queue in Queue}
        self.left[Queue.CONFLICT].update(count_left(session, Queue.CONFLICT))
        self.ranking = None

    def _next(self, session: Session, passed: Collection[int]) -> int | None:
        if self.conflict_order is ConflictOrder.OLDEST:
            return super()._next(session, passed)
        if self.ranking is None:
            self.ranking = ranked(session, type_ids=self.type_ids, source_id=self.source_id)
        open_ids = [number for number in self.ranking if number not in passed]
        for start in range(0, len(open_ids), _AT_ONCE):
            some = open_ids[start : start + _AT_ONCE]
            still = among(session, some, Queue.CONFLICT)
            if found := next((number for number in some if number in still), None):
                return found
        return None

    def verdicts(self, variant_id: int) -> list[GivenVerdict]:
        """Each person's verdict on a variant, in the order of their first verdicts."""
        with reading(self.engine) as session:
            return latest_of_each(verdicts_on(session, [variant_id]).get(variant_id, ()))

    # -- accepting an edit ---------------------------------------------------------------

    def choose_wording(self, shown: ShownCard) -> None:
        """E: accept the edited wording. If there are several, a digit chooses one."""
        if self.typing or (self.choosing and self.panel is not Panel.WORDING):
            return
        offered = wordings(self.verdicts(shown.variant_id))
        if len(offered) == 1:
            self.take_wording(shown, offered[0])
        elif offered:
            self.toggle(Panel.WORDING)
        else:
            self.say(
                "Nobody has edited this variant. To edit it, open its card on the Review page."
            )

    def take_wording(self, shown: ShownCard, wording: Wording) -> None:
        """Settle the conflict: the edited wording replaces the variant."""
        edit = partial(edit_variant, text=wording.text, type_id=wording.type_id, cue=wording.cue)
        self._act(shown, "Settled with the edited wording", edit)


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
        self.focus(None)

    def leave(self) -> None:
        """Do nothing: there is no lease to release."""
