"""What a window of the Review page shows now, and what comes next.

There are no widgets here. The desk draws what ``Viewer.view`` returns.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions import leases
from curation.decisions.assignment import seen_blind
from curation.decisions.history import decided_by, history
from curation.decisions.roles import Role, acting_role
from curation.decisions.storing import StatusChange, chunks
from curation.review import actions
from curation.review.actions import ShownCard
from curation.review.browser_window import messages
from curation.review.browser_window.queue_position import BLIND_ORDERS, QueuePosition
from curation.review.calibration.sample import sampled
from curation.review.cards import Card, card, family
from curation.review.gold import mixing
from curation.review.queue import Order, Queue, next_variant
from curation.review.settling import contested
from curation.review.undo import late_decisions
from db.engine import reading, writing
from db.models import Status, Variant

# -- Gold items on a reviewer's screen, shown and counted as pending variants ---------------------


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


@dataclass(frozen=True)
class CardView:
    """The cards to draw and the active one; without cards if the queue is empty.

    Attributes:
        hidden: ids of the cards whose diagnostics and verdicts are hidden.
    """

    cards: tuple[Card, ...]
    focus: Card | None
    hidden: frozenset[int] = frozenset()


class Viewer(GoldCards):
    """A position, and what to show there."""

    def view(self) -> CardView:
        """Read what to draw now."""
        variant_id = self.pinned or self.focus_id
        if variant_id is None or not self.screen.has(variant_id):
            with writing(self.engine) as session:
                variant_id = self._put_on_screen(session, variant_id)
        with reading(self.engine) as session:
            self._hear(session)
            if variant_id is None:
                self.showings = {}
                self.elsewhere = len(self._among(session, self.screen.others.keys()))
                return CardView((), None)
            focus = card(session, variant_id)
            cards = self._family(session, focus) if self.by_family else (focus,)
            variants = [c.variant for c in cards]
            hidden = self.veiled(session, variants)
            cards = self._disguise(session, cards)
            focus = next(item for item in cards if item.variant.id == variant_id)
            settled = contested(session, variants) - hidden - self.known_gold
            if acting_role(session) is not Role.LEAD:  # other roles cannot settle
                settled = frozenset()
            if variant_id not in self.gold:
                self._compare(session, focus.variant, hidden=variant_id in hidden)
        self.focus_id = variant_id
        self._show(variants, hidden, settled)
        return CardView(cards, focus, hidden)

    def _put_on_screen(self, session: Session, variant_id: int | None) -> int | None:
        """Lease this variant, or the next one that no other window has. Return its id."""
        if variant_id is None:
            return self._take_next(session)
        if not self._lease(session, variant_id):
            self._also_there(variant_id)
        return variant_id

    def _also_there(self, variant_id: int) -> None:
        """Say who else has a card on the screen, if anybody."""
        if (holder := self.screen.others.get(variant_id)) is not None:
            self._add(messages.also_there(holder, me=self.reviewer_id))

    def _take_next(self, session: Session) -> int | None:
        """Lease the first variant that no other window has. Return its id, or None."""
        found = self.screen.put_next(
            session,
            lambda others: self._next(session, self.skipped.union(others)),
            lambda found: bool(
                self._among(session, {found})
                or mixing.undecided(session, self.reviewer_id, {found})
            ),
            by_family=self.by_family,
        )
        self._keep_position(session, found)
        return found

    def _lease(self, session: Session, variant_id: int) -> bool:
        by_family = self.by_family
        ids = leases.families_of(session, [variant_id]) if by_family else {variant_id}
        self._keep_position(session, variant_id)
        return self.screen.put(session, ids)

    def _hear(self, session: Session) -> None:
        """Report others' late decisions on cards decided on here."""
        for decision in late_decisions(session, self.recent):
            if decision.id not in self.heard:
                self.heard.add(decision.id)
                self._add(messages.late(decision, me=self.reviewer_id))

    def _compare(self, session: Session, variant: Variant, *, hidden: bool) -> None:
        """Report others' decisions on the active card while it was on the screen."""
        seen = self.showings.get(variant.id)
        if seen is not None and seen.version != variant.version:
            past = history(session, seen.variant_id)
            self._add(messages.meanwhile(past, seen, me=self.reviewer_id, hidden=hidden))

    def _family(self, session: Session, focus: Card) -> tuple[Card, ...]:
        """The family's cards. Superseded and retired ones are included only if active."""
        siblings = {item.variant.id for item in self.siblings(session, focus)}
        return tuple(
            item
            for item in family(session, focus.variant.anchor_id)
            if item.variant.id == focus.variant.id or item.variant.id in siblings
        )

    def siblings(self, session: Session, focus: Card) -> list[Card]:
        """The other cards of a card's family that can be shown with it.

        The result of somebody else's edit is left out while other assigned people still have to
        decide on the original, because it would reveal the edit.
        """
        cards = family(session, focus.variant.anchor_id)
        unfinished = {item.variant.id for item in cards if item.variant.verdicts_by}
        return [
            item
            for item in cards
            if item.is_shown_with(focus)
            and (
                item.variant.parent_id not in unfinished
                or item.variant.author_id == self.reviewer_id
            )
        ]

    def veiled(self, session: Session, variants: Sequence[Variant]) -> frozenset[int]:
        """The ids of the variants that this reviewer must see blind.

        In blind mode these are the variants on which the reviewer has not decided. The same applies
        without blind mode to the variants of a calibration's sample and to those assigned to
        several people, which stay blind, even for those who have decided, until all have. In the
        queue of conflicts the verdicts are shown, because they are needed for settling.
        """
        unfinished = frozenset(variant.id for variant in variants if variant.verdicts_by)
        rest = [variant for variant in variants if variant.id not in unfinished]
        if not self.blind:
            always = sampled(session, rest) | seen_blind(session, rest)
            rest = [variant for variant in rest if variant.id in always]
        settling = self.in_queue and self.queue is Queue.CONFLICT
        ids = [v.id for v in rest if not (settling and v.status == Status.CONFLICT)]
        if not ids:
            return unfinished
        return unfinished | (frozenset(ids) - decided_by(session, self.reviewer_id, ids))

    def why_veiled(self, session: Session, variant: Variant) -> str:
        """Why this reviewer sees the variant blind, in a sentence."""
        if variant.verdicts_by or seen_blind(session, [variant]):
            return "Several people decide on this variant independently."
        if self.blind:
            return "Blind mode is on; B turns it off."
        return "This variant is in a sample that people review blind, to evaluate models."

    def veiled_ids(self, session: Session, variant_ids: Collection[int]) -> frozenset[int]:
        """Like ``veiled``, for ids."""
        rows: list[Variant] = []
        for ids in chunks(variant_ids):
            rows += session.execute(select(Variant).where(col(Variant.id).in_(ids))).scalars()
        return self.veiled(session, rows)

    def _next(self, session: Session, passed: Collection[int]) -> int | None:
        if self.selection is not None:
            return self.selection.next(session, passed)
        order = self.order if not self.blind or self.order in BLIND_ORDERS else Order.RANDOM
        variant = next_variant(
            session,
            type_ids=self.type_ids,
            queue=self.queue,
            order=order,
            source_id=self.source_id,
            skipped=passed,
            reviewer_id=self.reviewer_id,
        )
        return None if variant is None else self._mix(session, passed) or variant.id

    def _show(
        self, variants: Sequence[Variant], hidden: frozenset[int], settled: frozenset[int]
    ) -> None:
        """Update the showings. Unchanged cards keep theirs, so that a redraw changes nothing."""
        old = self.showings
        self.showings = {}
        for variant in variants:
            known = old.get(variant.id)
            blind, settles = variant.id in hidden, variant.id in settled
            gold = variant.id in self.gold
            seen = (variant.version, blind, settles, gold)
            if known is None or (known.version, known.blind, known.settles, known.gold) != seen:
                known = actions.shown(
                    variant, at=datetime.now(UTC), blind=blind, settles=settles, gold=gold
                )
            self.showings[known.variant_id] = known
        ids = {showing.action_id for showing in self.showings.values()}
        self.drawn = {key: at for key, at in self.drawn.items() if key in ids}

    def drawn_now(self) -> None:
        """Record the time at which the cards were sent to the browser."""
        moment = time.monotonic()
        for showing in self.showings.values():
            self.drawn.setdefault(showing.action_id, moment)

    def _following(self, session: Session, shown: ShownCard) -> int | None:
        """Lease the family's next card in the queue, or else the next card of the queue."""
        if not self.by_family:
            return self._take_next(session)
        anchor_id = session.get_one(Variant, shown.variant_id).anchor_id
        members = [c.variant.id for c in family(session, anchor_id)]
        undecided = self._among(session, members, of_any_type=True)
        if self.queue is Queue.PENDING:
            undecided |= mixing.undecided(session, self.reviewer_id, members)
        undecided -= self.skipped
        rest = [number for number in members if number in undecided]
        ids = list(self.showings)  # in the order on the screen
        here = ids.index(shown.variant_id) if shown.variant_id in ids else 0
        onwards = dict.fromkeys([*ids[here + 1 :], *ids[:here], *rest])
        found = next((number for number in onwards if number in undecided), None)
        if found is None:
            return self._take_next(session)
        self._lease(session, found)
        return found
