"""Gold items on a reviewer's screen, shown and counted as pending variants."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.review.browser_window.queue_position import QueuePosition
from curation.review.cards import Card
from curation.review.decisions import StatusChange
from curation.review.gold import mixing
from curation.review.queue import Queue


@dataclass
class GoldCards(QueuePosition):
    """A position in a queue with gold items mixed in.

    Attributes:
        gold: ids of the gold items on the screen that are disguised as pending.
        known_gold: ids of all gold items on the screen.
        gold_done: ids of gold items decided on here, each of which lowered the pending count by
            one.
    """

    gold: frozenset[int] = frozenset()
    known_gold: frozenset[int] = frozenset()
    gold_done: set[int] = field(default_factory=set)

    def _mix(self, session: Session, passed: Collection[int]) -> int | None:
        """The gold item that is due instead of the next card of this queue, if any."""
        if self.queue is not Queue.PENDING or not self.in_queue:
            return None
        return mixing.due(
            session,
            self.reviewer_id,
            type_ids=self.type_ids,
            source_id=self.source_id,
            passed=passed,
        )

    def _disguise(self, session: Session, cards: Sequence[Card]) -> tuple[Card, ...]:
        """The cards as this reviewer sees them: gold items look like pending variants."""
        variants = [item.variant for item in cards]
        self.known_gold = mixing.known_gold(session, variants)
        self.gold = mixing.undecided(session, self.reviewer_id, self.known_gold)
        return tuple(
            mixing.as_pending(session, item, self.reviewer_id)
            if item.variant.id in self.gold
            else item
            for item in cards
        )

    def _count(self, changes: tuple[StatusChange, ...]) -> None:
        """Update the counts. A decided gold item no longer counts as pending.

        The next full count corrects this. Until then, nobody can see that the decision did not
        reduce the work.
        """
        super()._count(changes)
        pending = self.left[Queue.PENDING]
        for change in changes:
            key = (change.type_id, change.source_id)
            showing = self.showings.get(change.variant_id)
            if showing is not None and showing.gold:
                if pending[key] > 1:  # the next card really is pending
                    pending[key] -= 1
                    self.gold_done.add(change.variant_id)
            elif showing is None and change.variant_id in self.gold_done:  # an undo
                pending[key] += 1
                self.gold_done.remove(change.variant_id)
