"""A reviewer's place in the queue, in one window: what is drawn now, and what comes next.

No widgets here, and nothing is stored: what the keys do is in ``review_state``.
"""

import time
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Engine
from sqlmodel import Session

from curation import leases, review
from curation.decisions import StatusChange
from curation.history import decided_by, history
from curation.late import late_decisions
from curation.leases import Holder
from curation.measures import LEVENSHTEIN_THRESHOLD
from curation.opinions import GivenOpinion
from curation.project import THRESHOLD, get_setting
from curation.queue import (
    Card,
    Order,
    Queue,
    among,
    awaiting_a_person,
    card,
    count_left,
    family,
    next_variant,
    status_counts,
)
from curation.review import Shown
from curation.settling import contested
from curation.taxonomy import VariantType
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Reviewer, Status, Variant
from pages.components import review_words
from pages.components.review_pace import Pace
from pages.components.review_screen import Screen
from pages.components.review_selection import Selection

BLIND_ORDERS = (Order.OLDEST, Order.RANDOM)
"""The others would give away what the diagnostics say."""


class Panel(StrEnum):
    """What is open below the card."""

    NONE = ""
    EDIT = "edit"
    REASON = "reason"
    REJECT = "reject"
    RETYPE = "retype"
    NOTE = "note"
    WRITE = "write"
    LAST = "last"
    OPINION = "opinion"
    KEYS = "keys"


@dataclass(frozen=True)
class View:
    """The cards to draw and the one that the keys mean; none when the queue is empty.

    Attributes:
        hidden: ids of the cards whose diagnostics and verdicts are not to be seen.
    """

    cards: tuple[Card, ...]
    focus: Card | None
    hidden: frozenset[int] = frozenset()


@dataclass
class Place:
    """Where a reviewer is, between two key presses.

    Attributes:
        queue: what is gone through.
        type_id: the type that it is narrowed to; None for all.
        selection: go through these instead of a queue.
        blind: hide diagnostics and other people's verdicts until one has decided oneself.
        guide: show the guideline beside the card.
        pinned: a variant to show whatever its status: after an undo, or by its permalink.
        focus_id: the variant that the keys mean; None to take the next of the queue.
        showings: by variant id, what is on the screen now.
        drawn: by action id, when its card was first drawn (monotonic seconds).
        redraw: the page around the card has to be drawn anew, too.
        has_opinions: models have given second opinions in this project.
        opinions: those that are open below the card.
        opinions_on: id of the showing that they were asked for on.
        suggested: the opinion whose suggestion the editor begins with.
        screen: what is leased to this window.
        elsewhere: how many variants of an empty queue are on other screens.
        recent: ids of the last actions here; what others decide on these cards late is said.
        heard: ids of the late decisions that were said.
    """

    engine: Engine
    reviewer_id: int
    types: list[VariantType]
    type_id: str | None = None
    queue: Queue = Queue.PENDING
    selection: Selection | None = None
    order: Order = Order.OLDEST
    by_family: bool = False
    blind: bool = False
    guide: bool = True
    panel: Panel = Panel.NONE
    details: bool = False
    pinned: int | None = None
    focus_id: int | None = None
    skipped: set[int] = field(default_factory=set)
    showings: dict[int, Shown] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)
    message: str = ""
    warn: bool = False
    counts: dict[str, dict[Status, int]] = field(default_factory=dict)
    left: dict[Queue, Counter[str]] = field(default_factory=dict)
    threshold: int = LEVENSHTEIN_THRESHOLD
    reviewer_name: str = ""
    pace: Pace = field(default_factory=Pace)
    edited: int = 0
    redraw: bool = False
    has_opinions: bool = False
    opinions: tuple[GivenOpinion, ...] = ()
    opinions_on: str = ""
    suggested: GivenOpinion | None = None
    screen: Screen = field(init=False)
    elsewhere: int = 0
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    heard: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Every place is a window of its own."""
        self.screen = Screen(self.reviewer_id)

    def recount(self) -> None:
        """Read the counts from the database; between two key presses they are kept in step."""
        with reading(self.engine) as session:
            self.counts = status_counts(session)
            self.left = {queue: Counter(count_left(session, queue)) for queue in Queue}
            self.threshold = int(get_setting(session, THRESHOLD))
            self.reviewer_name = session.get_one(Reviewer, self.reviewer_id).name

    def pending(self, type_id: str) -> int:
        """Pending variants of a type."""
        return self.left_in(Queue.PENDING, type_id)

    def left_in(self, queue: Queue, type_id: str | None = None) -> int:
        """Variants in a queue, of one type or of all that are in use."""
        left = self.left.get(queue, Counter())
        return sum(left[entry.id] for entry in self.types if type_id in (None, entry.id))

    @property
    def in_queue(self) -> bool:
        """Whether what comes next follows the order of a queue."""
        return self.selection is None

    @property
    def type_ids(self) -> list[str]:
        """The types under review."""
        return [self.type_id] if self.type_id else [entry.id for entry in self.types]

    def count_skipped(self) -> int:
        """How many of the skipped variants are what is left here."""
        with reading(self.engine) as session:
            return len(self._among(session, self.skipped))

    def first_type(self, queue: Queue) -> str | None:
        """The first type, in the taxonomy's order, with something in this queue."""
        return next((e.id for e in self.types if self.left_in(queue, e.id)), None)

    # -- what to draw ------------------------------------------------------------------

    def view(self) -> View:
        """Read what is to be seen now."""
        variant_id = self.pinned or self.focus_id
        if variant_id is None or not self.screen.has(variant_id):
            with writing(self.engine) as session:
                variant_id = self._put_on_screen(session, variant_id)
        with reading(self.engine) as session:
            self._hear(session)
            if variant_id is None:
                self.showings = {}
                others = leases.on_other_screens(session, self.screen.window)
                self.elsewhere = len(self._among(session, others.keys()))
                return View((), None)
            focus = card(session, variant_id)
            cards = self._family(session, focus) if self.by_family else (focus,)
            variants = [c.variant for c in cards]
            hidden = self.veiled(session, variants)
            settled = contested(session, variants) - hidden
            self._compare(session, focus.variant, hidden=variant_id in hidden)
        self.focus_id = variant_id
        self._show(variants, hidden, settled)
        return View(cards, focus, hidden)

    def _put_on_screen(self, session: Session, variant_id: int | None) -> int | None:
        """Lease this variant, or the next one that no other window has; its id."""
        if variant_id is None:
            return self._take_next(session)
        if not self._lease(session, variant_id):
            self._also_there(leases.on_other_screens(session, self.screen.window), variant_id)
        return variant_id

    def _also_there(self, others: Mapping[int, Holder], variant_id: int) -> None:
        """Say who else has a card on the screen, if anybody has."""
        if (holder := others.get(variant_id)) is not None:
            self._add(review_words.also_there(holder, me=self.reviewer_id))

    def _take_next(self, session: Session) -> int | None:
        """Lease the first variant that no other window has; None where there is none."""
        return self.screen.put_next(
            session,
            lambda others: self._next(session, self.skipped.union(others)),
            lambda variant_id: bool(self._among(session, {variant_id})),
            by_family=self.by_family,
        )

    def _lease(self, session: Session, variant_id: int) -> bool:
        by_family = self.by_family
        ids = leases.families_of(session, [variant_id]) if by_family else {variant_id}
        return self.screen.put(session, ids)

    def _hear(self, session: Session) -> None:
        """Say what others decided late on cards that were decided on here."""
        for decision in late_decisions(session, self.recent):
            if decision.id not in self.heard:
                self.heard.add(decision.id)
                self._add(review_words.late(decision, me=self.reviewer_id))

    def _compare(self, session: Session, variant: Variant, *, hidden: bool) -> None:
        """Say what others decided on the card in focus while it was on the screen."""
        seen = self.showings.get(variant.id or 0)
        if seen is not None and seen.version != variant.version:
            past = history(session, seen.variant_id)
            self._add(review_words.meanwhile(past, seen, me=self.reviewer_id, hidden=hidden))

    def _among(self, session: Session, variant_ids: Set[int]) -> set[int]:
        """Which of these variants are what is gone through here."""
        if self.selection is not None:
            return awaiting_a_person(session, variant_ids & set(self.selection.ids))
        return among(session, variant_ids, self.queue, type_ids=self.type_ids)

    def _family(self, session: Session, focus: Card) -> tuple[Card, ...]:
        """The family's cards; a replaced wording or one out of use only if it is in focus."""
        return tuple(
            item
            for item in family(session, focus.variant.anchor_id)
            if item.variant.id == focus.variant.id or item.stands_beside(focus)
        )

    def veiled(self, session: Session, variants: Sequence[Variant]) -> frozenset[int]:
        """In blind mode, those of these variants that one has not decided on oneself.

        Who goes through the conflicts to settle them sees the verdicts.
        """
        if not self.blind:
            return frozenset()
        settling = self.in_queue and self.queue is Queue.CONFLICT
        ids = [v.id or 0 for v in variants if not (settling and v.status == Status.CONFLICT)]
        return frozenset(ids) - decided_by(session, self.reviewer_id, ids)

    def _next(self, session: Session, passed: Collection[int]) -> int | None:
        if self.selection is not None:
            return self.selection.next(session, passed)
        order = self.order if not self.blind or self.order in BLIND_ORDERS else Order.RANDOM
        variant = next_variant(
            session, type_ids=self.type_ids, queue=self.queue, order=order, skipped=passed
        )
        return None if variant is None else variant.id

    def _show(
        self, variants: Sequence[Variant], hidden: frozenset[int], settled: frozenset[int]
    ) -> None:
        """Keep the showings of unchanged cards, so that redrawing does not renew them."""
        old = self.showings
        self.showings = {}
        for variant in variants:
            known = old.get(variant.id or 0)
            blind, settles = variant.id in hidden, variant.id in settled
            seen = (variant.version, blind, settles)
            if known is None or (known.version, known.blind, known.settles) != seen:
                known = review.shown(variant, at=datetime.now(UTC), blind=blind, settles=settles)
            self.showings[known.variant_id] = known
        ids = {showing.action_id for showing in self.showings.values()}
        self.drawn = {key: at for key, at in self.drawn.items() if key in ids}

    def drawn_now(self) -> None:
        """Note the moment at which the cards went to the browser."""
        moment = time.monotonic()
        for showing in self.showings.values():
            self.drawn.setdefault(showing.action_id, moment)

    # -- going somewhere ---------------------------------------------------------------

    def go_to(self, *, queue: Queue, type_id: str | None, order: Order, family: bool) -> None:
        """Take this queue; where it is another one than before, begin at its head."""
        wanted = (queue, type_id, order, family)
        if wanted != (self.queue, self.type_id, self.order, self.by_family):
            self.queue, self.type_id, self.order, self.by_family = wanted
            if self.focus_id is not None:  # else nothing was shown yet, and what is said stays
                self.restart()

    def restart(self) -> None:
        """Begin at the head of the queue."""
        self.pinned = self.focus_id = None
        self.panel = Panel.NONE
        self.message = ""

    def take(self, selection: Selection | None) -> None:
        """Go through a selection, or leave it for the queue."""
        self.selection = selection
        if selection is not None:
            self.skipped.difference_update(selection.ids)
            with reading(self.engine) as session:
                selection.refresh(session)
        self.restart()

    def open_link(self, uid: str) -> None:
        """Show the variant that a permalink names, or say in the message why not."""
        try:
            with reading(self.engine) as session:
                self.pinned = review.find_variant(session, uid[:64]).id
        except HedgerowError as error:
            self.say(f"{error} Here is the queue instead.", warn=True)
        else:
            self.panel, self.message = Panel.NONE, ""

    def focus(self, variant_id: int) -> None:
        """Let the keys mean another card of the family."""
        self.pinned = None
        self.focus_id = variant_id
        self.panel = Panel.NONE

    def pin(self, variant_id: int) -> None:
        """Show this variant, whatever its status."""
        self.pinned = self.focus_id = variant_id
        self.panel, self.message = Panel.NONE, ""

    def _following(self, session: Session, shown: Shown) -> int | None:
        """Lease the next card of the family that is in the queue, or the next of the queue."""
        if not self.by_family:
            return self._take_next(session)
        anchor_id = session.get_one(Variant, shown.variant_id).anchor_id
        members = [c.variant.id or 0 for c in family(session, anchor_id)]
        undecided = among(session, members, self.queue) - self.skipped
        rest = [number for number in members if number in undecided]
        ids = list(self.showings)  # as they are on the screen
        here = ids.index(shown.variant_id) if shown.variant_id in ids else 0
        onwards = dict.fromkeys([*ids[here + 1 :], *ids[:here], *rest])
        found = next((number for number in onwards if number in undecided), None)
        if found is None:
            return self._take_next(session)
        self._lease(session, found)
        return found

    def _move_to(self, variant_id: int | None) -> None:
        """Show this card; None to look for the next one when the page is drawn."""
        self.focus_id, self.pinned = variant_id, None
        self.panel = Panel.NONE

    def leave(self) -> None:
        """Give back the card on the screen; coming back begins at the head of the queue."""
        self.focus_id = None
        self.screen.clear(self.engine)

    def _count(self, changes: tuple[StatusChange, ...]) -> None:
        """Keep the counts in step."""
        for change in changes:
            self.left[Queue.SECOND_LOOK][change.type_id] += change.second_look
            self.left[Queue.MODEL_ONLY][change.type_id] += change.model_only
            if change.before is change.after:
                continue
            for queue in (Queue.PENDING, Queue.CONFLICT):
                entered = (change.after.value == queue) - (change.before == Status(queue.value))
                self.left[queue][change.type_id] += entered
            numbers = self.counts.setdefault(change.type_id, dict.fromkeys(Status, 0))
            if change.before is not None:
                numbers[change.before] = max(0, numbers.get(change.before, 0) - 1)
            numbers[change.after] = numbers.get(change.after, 0) + 1

    def say(self, message: str, *, warn: bool = False) -> None:
        """Have this said below the card."""
        self.message, self.warn = message, warn

    def _add(self, message: str) -> None:
        """Say this, too, if it is not said yet."""
        if message and message not in self.message:
            self.say(f"{self.message} {message}".strip(), warn=True)
