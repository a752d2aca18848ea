"""What a window of the Review page shows now, and what comes next.

There are no widgets here. The desk draws what ``ReviewWindow.view`` returns.
"""

import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from sqlalchemy.orm import Session

from curation.decisions.history import history
from curation.decisions.leases import Screen, families_of
from curation.decisions.roles import acting_role
from curation.decisions.storing import StatusChange
from curation.review.adjudication import contested
from curation.review.browser_window import messages
from curation.review.browser_window.keyboard import Keyboard
from curation.review.browser_window.queue_position import BLIND_ORDERS, Panel, QueuePosition
from curation.review.browser_window.selection import VariantSelection
from curation.review.cards import Card, card, family
from curation.review.deciding import ShownCard, find_variant, shown
from curation.review.drafts import Place, StoredPosition, keep_position
from curation.review.gold import mixing
from curation.review.queue import Order, Queue, next_variant
from curation.review.undo import late_decisions
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import TeamRole, Variant


@dataclass(frozen=True)
class CardView:
    """The cards to draw and the active one; without cards if the queue is empty.

    Attributes:
        hidden: ids of the cards whose diagnostics and verdicts are hidden.
    """

    cards: tuple[Card, ...]
    focus: Card | None
    hidden: frozenset[int] = frozenset()


@dataclass
class ReviewWindow(QueuePosition):
    """A position between two key presses, and its cards on the screen.

    Gold items look like pending variants there, and count as such.

    Attributes:
        panel: the panel that is open below the card.
        pinned: a variant to show whatever its status, after an undo or by its permalink.
        focus_id: the variant that the keys act on; None to take the next one from the queue.
        showings: the cards on the screen, by variant id.
        drawn: the time when each card was first drawn (monotonic seconds), by action id.
        screen: the leases of this window.
        elsewhere: number of variants of an empty queue that are on other screens.
        recent: ids of the latest actions here, to report others' late decisions on their cards.
        reported: ids of the late decisions already reported.
        keyboard: the active keys.
        gold: ids of the gold items on the screen that are disguised as pending.
        known_gold: ids of all gold items on the screen.
        gold_done: ids of gold items decided on here, each of which lowered the pending count by
            one.
    """

    stores_position: ClassVar[bool] = True
    """Whether a later window can continue from the position."""

    panel: Panel = Panel.NONE
    pinned: int | None = None
    focus_id: int | None = None
    showings: dict[int, ShownCard] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)
    message: str = ""
    warn: bool = False
    screen: Screen = field(init=False)
    elsewhere: int = 0
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    reported: set[int] = field(default_factory=set)
    keyboard: Keyboard = field(default_factory=Keyboard)
    gold: frozenset[int] = frozenset()
    known_gold: frozenset[int] = frozenset()
    gold_done: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Give each position its own window."""
        self.screen = Screen(self.reviewer_id)

    def say(self, message: str, *, warn: bool = False) -> None:
        """Show this message next to the card."""
        self.message, self.warn = message, warn

    def _add(self, message: str) -> None:
        """Append this message, unless it is shown already."""
        if message and message not in self.message:
            self.say(f"{self.message} {message}".strip(), warn=True)

    # -- changing the position ---------------------------------------------------------

    def go_to(self, place: Place) -> None:
        """Review this place. After a change, start at its head."""
        before = self.place
        if place != before:
            self.queue, self.type_id, self.source_id, self.order, self.by_family = place
            if place.source_id != before.source_id:
                self.recount()
            if self.focus_id is not None:  # otherwise keep the message: nothing was shown yet
                self.restart()

    def restart(self) -> None:
        """Start at the head of the queue."""
        self.focus(None)
        self.message = ""

    def take(self, selection: VariantSelection | None) -> None:
        """Review a selection; with None, return to the queue."""
        self.selection = selection
        if selection is not None:
            selection.reviewer_id = self.reviewer_id
            self.skipped.difference_update(selection.ids)
            with reading(self.engine) as session:
                selection.refresh(session)
        self.restart()

    def open_link(self, uid: str) -> None:
        """Show the variant of a permalink, or say why that is not possible."""
        try:
            with reading(self.engine) as session:
                self.pinned = find_variant(session, uid[:64]).id
        except HedgerowError as error:
            self.say(f"{error} The queue is shown instead.", warn=True)
        else:
            self.panel, self.message = Panel.NONE, ""

    def focus(self, variant_id: int | None) -> None:
        """Make another card the active one; with None, the next one when the page is drawn."""
        self.focus_id, self.pinned = variant_id, None
        self.panel = Panel.NONE

    def pin(self, variant_id: int) -> None:
        """Show this variant, whatever its status."""
        self.pinned = self.focus_id = variant_id
        self.panel, self.message = Panel.NONE, ""

    def leave(self) -> None:
        """Release the card on the screen. The next visit starts at the head of the queue."""
        self.focus_id = None
        self.screen.clear(self.engine)

    def count(self, changes: tuple[StatusChange, ...]) -> None:
        """Update the counts. A decided gold item no longer counts as pending.

        The next full count corrects this. Until then, nobody can see that the decision did not
        reduce the work.
        """
        super().count(changes)
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

    # -- the cards on the screen -------------------------------------------------------

    def view(self) -> CardView:
        """Read what to draw now."""
        variant_id = self.pinned or self.focus_id
        if variant_id is None or not self.screen.has(variant_id):
            with writing(self.engine) as session:
                if variant_id is None:
                    variant_id = self._take_next(session)
                elif not self._lease(session, variant_id):
                    self._report_holder(variant_id)
        with reading(self.engine) as session:
            for decision in late_decisions(session, self.recent):
                if decision.id not in self.reported:
                    self.reported.add(decision.id)
                    self._add(messages.late(decision, me=self.reviewer_id))
            if variant_id is None:
                self.showings = {}
                self.elsewhere = len(self.among(session, self.screen.others.keys()))
                return CardView((), None)
            cards = self._read_cards(session, variant_id)
            variants = [item.variant for item in cards]
            hidden = self.hidden(session, variants)
            self.known_gold = mixing.known_gold(session, variants)
            self.gold = mixing.undecided(session, self.reviewer_id, self.known_gold)
            settled = contested(session, variants) - hidden - self.known_gold
            if acting_role(session) is not TeamRole.LEAD:  # other roles cannot settle
                settled = frozenset()
            if variant_id not in self.gold:
                self._report_others(session, variant_id, hidden=variant_id in hidden)
            cards = [self._disguised(session, item) for item in cards]
        self.focus_id = variant_id
        self._show(variants, hidden, settled)
        focus = next(item for item in cards if item.variant.id == variant_id)
        return CardView(tuple(cards), focus, hidden)

    def _read_cards(self, session: Session, variant_id: int) -> list[Card]:
        """The active card, in the family view with its family."""
        focus = card(session, variant_id)
        return self._family(session, focus) if self.by_family else [focus]

    def _disguised(self, session: Session, item: Card) -> Card:
        """The card as this reviewer sees it: a gold item looks like a pending variant."""
        if item.variant.id not in self.gold:
            return item
        return mixing.as_pending(session, item, self.reviewer_id)

    def _report_holder(self, variant_id: int) -> None:
        """Say who else has a card on the screen, if anybody."""
        if (holder := self.screen.others.get(variant_id)) is not None:
            self._add(messages.also_there(holder, me=self.reviewer_id))

    def _report_others(self, session: Session, variant_id: int, *, hidden: bool) -> None:
        """Report others' decisions on the active card while it was on the screen."""
        seen = self.showings.get(variant_id)
        if seen is not None and seen.version != session.get_one(Variant, variant_id).version:
            past = history(session, variant_id)
            self._add(messages.meanwhile(past, seen, me=self.reviewer_id, hidden=hidden))

    def _family(self, session: Session, focus: Card) -> list[Card]:
        """A card's family as far as it can be shown with the card, and the card itself.

        The result of somebody else's edit is left out while other assigned people still have to
        decide on the original, because it would reveal the edit.
        """
        cards = family(session, focus.variant.anchor_id)
        unfinished = {item.variant.id for item in cards if item.variant.verdicts_by}
        return [
            item
            for item in cards
            if item.variant.id == focus.variant.id
            or (
                item.is_shown_with(focus)
                and (
                    item.variant.parent_id not in unfinished
                    or item.variant.author_id == self.reviewer_id
                )
            )
        ]

    def siblings(self, session: Session, focus: Card) -> list[Card]:
        """The other cards of a card's family that can be shown with it."""
        cards = self._family(session, focus)
        return [item for item in cards if item.variant.id != focus.variant.id]

    def _show(
        self, variants: Sequence[Variant], hidden: frozenset[int], settled: frozenset[int]
    ) -> None:
        """Update the showings. Unchanged cards keep theirs, so that a redraw changes nothing."""
        old = self.showings
        self.showings = {}
        for variant in variants:
            known = old.get(variant.id)
            key = variant.id
            blind, settles, gold = key in hidden, key in settled, key in self.gold
            seen = (variant.version, blind, settles, gold)
            if known is None or (known.version, known.blind, known.settles, known.gold) != seen:
                at = datetime.now(UTC)
                known = shown(variant, at=at, blind=blind, settles=settles, gold=gold)
            self.showings[key] = known
        ids = {showing.action_id for showing in self.showings.values()}
        self.drawn = {key: at for key, at in self.drawn.items() if key in ids}

    def drawn_now(self) -> None:
        """Record the time at which the cards were sent to the browser."""
        moment = time.monotonic()
        for showing in self.showings.values():
            self.drawn.setdefault(showing.action_id, moment)

    # -- the next card -----------------------------------------------------------------

    def _take_next(self, session: Session) -> int | None:
        """Lease the first variant that no other window has. Return its id, or None."""
        found = self.screen.put_next(
            session,
            lambda others: self._next(session, self.skipped.union(others)),
            lambda found: bool(
                self.among(session, {found}) or mixing.undecided(session, self.reviewer_id, {found})
            ),
            by_family=self.by_family,
        )
        self._store_position(session, found)
        return found

    def _lease(self, session: Session, variant_id: int) -> bool:
        """Lease this variant, in the family view with its family; False if others have some."""
        ids = families_of(session, [variant_id]) if self.by_family else {variant_id}
        self._store_position(session, variant_id)
        return self.screen.put(session, ids) == ids

    def _store_position(self, session: Session, variant_id: int | None) -> None:
        """Store the position of this window, for a later window to continue from."""
        if self.in_queue and self.stores_position:
            position = StoredPosition(self.screen.window, self.place, variant_id)
            keep_position(session, position, reviewer_id=self.reviewer_id)

    def _next(self, session: Session, passed: Collection[int]) -> int | None:
        """The first variant of the selection or the queue, or the gold item due instead of it."""
        if self.selection is not None:
            return self.selection.next(session, passed)
        variant = next_variant(
            session,
            type_ids=self.type_ids,
            queue=self.queue,
            order=Order.RANDOM if self.blind and self.order not in BLIND_ORDERS else self.order,
            source_id=self.source_id,
            skipped=passed,
            reviewer_id=self.reviewer_id,
        )
        if variant is None:
            return None
        if self.queue is not Queue.PENDING:
            return variant.id
        due = mixing.due(
            session,
            self.reviewer_id,
            type_ids=self.type_ids,
            source_id=self.source_id,
            passed=passed,
        )
        return due or variant.id

    def _following(self, session: Session, shown: ShownCard) -> int | None:
        """Lease the family's next card in the queue, or else the next card of the queue."""
        if not self.by_family:
            return self._take_next(session)
        anchor_id = session.get_one(Variant, shown.variant_id).anchor_id
        members = [c.variant.id for c in family(session, anchor_id)]
        undecided = self.among(session, members, of_any_type=True)
        if self.queue is Queue.PENDING:
            undecided |= mixing.undecided(session, self.reviewer_id, members)
        undecided -= self.skipped
        ids = list(self.showings)  # in the order on the screen
        here = ids.index(shown.variant_id) if shown.variant_id in ids else 0
        onwards = [*ids[here + 1 :], *ids[:here], *members]
        found = next((number for number in onwards if number in undecided), None)
        if found is None:
            return self._take_next(session)
        self._lease(session, found)
        return found
