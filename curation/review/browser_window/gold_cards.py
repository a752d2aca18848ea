"""Gold items on a reviewer's screen: shown, and counted, as the pending variants they look like."""

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
    """A place where one card in so many is a gold item.

    Attributes:
        gold: ids of the gold items on the screen that are to look pending.
        known_gold: ids of all gold items on the screen.
        gold_done: ids of those decided on here, for which the counts have one pending variant less.
    """

    gold: frozenset[int] = frozenset()
    known_gold: frozenset[int] = frozenset()
    gold_done: set[int] = field(default_factory=set)

    def _mix(self, session: Session, passed: Collection[int]) -> int | None:
        """The gold item that is due in place of the next card of this queue, if any."""
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
        """The cards as this reviewer is to see them: gold items like pending variants."""
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
        """Keep the counts in step; one that was decided on as a gold item is pending no longer.

        What is pending really is counted again now and then. Until then nobody sees that a decision
        left nothing less to do.
        """
        super()._count(changes)
        pending = self.left[Queue.PENDING]
        for change in changes:
            key = (change.type_id, change.source_id)
            showing = self.showings.get(change.variant_id)
            if showing is not None and showing.gold:
                if pending[key] > 1:  # the card that comes next is really pending
                    pending[key] -= 1
                    self.gold_done.add(change.variant_id)
            elif showing is None and change.variant_id in self.gold_done:  # an undo
                pending[key] += 1
                self.gold_done.remove(change.variant_id)
