"""Settle conflicts one after the other, and a practice round, in one window."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import ActionOutcome, ShownCard
from curation.review.adjudication import (
    ConflictOrder,
    GivenVerdict,
    Wording,
    latest_of_each,
    ranked,
    verdicts_on,
    wordings,
)
from curation.review.browser_window.cards_on_screen import Screen
from curation.review.browser_window.key_actions import ReviewState
from curation.review.browser_window.keyboard import NOTHING, Keyboard, Shows
from curation.review.browser_window.queue_position import Panel
from curation.review.cards import Card, card
from curation.review.gold import mixing, practice
from curation.review.gold.items import Gold
from curation.review.gold.practice import Answer, PracticeRound
from curation.review.queue import Order, Queue, among, count_left
from db.engine import reading, writing
from db.models import Verdict

_AT_ONCE = 20
"""Number of ids checked at once for the next card: others rarely settle some in the meantime."""


@dataclass
class AdjudicationState(ReviewState):
    """The position of somebody who settles conflicts.

    Attributes:
        conflict_order: the order of the conflicts.
        ranking: the conflicts, most disputed first, at the time of ranking; None before.
    """

    queue: Queue = Queue.CONFLICT
    conflict_order: ConflictOrder = ConflictOrder.OLDEST
    ranking: list[int] | None = field(default=None)

    def choose(self, *, type_id: str | None, source_id: int | None, order: ConflictOrder) -> None:
        """Show these conflicts in this order. After a change, start with the first one."""
        if order is not self.conflict_order:
            self.conflict_order = order
            self.restart()
        self.go_to(
            queue=Queue.CONFLICT,
            type_id=type_id,
            source_id=source_id,
            order=Order.OLDEST,
            family=False,
        )

    def restart(self) -> None:
        """Start with the first conflict, by a new ranking."""
        super().restart()
        self.ranking = None

    def _read_counts(self, session: Session) -> None:
        """Count only the conflicts, which is fast in a large project, too."""
        self.left = {queue: Counter() for queue in Queue}
        self.left[Queue.CONFLICT].update(count_left(session, Queue.CONFLICT))
        self.ranking = None

    def _keep_position(self, session: Session, variant_id: int | None) -> None:
        """Store nothing: the Review page cannot continue from a position on this page."""

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

        def do(session: Session) -> ActionOutcome:
            return actions.edit(
                session,
                shown,
                reviewer_id=self.reviewer_id,
                text=wording.text,
                type_id=wording.type_id,
                cue=wording.cue,
            )

        self._act(shown, "Settled with the edited wording", do)


# -- practising -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PracticeView:
    """What to draw now.

    Attributes:
        item: the item on the screen; None if there are no items, and after the last one.
        card: its card, which looks like that of a pending variant.
        answer: the reviewer's answer; None until there is one.
    """

    round: PracticeRound
    item: Gold | None = None
    card: Card | None = None
    answer: Answer | None = None

    @property
    def is_right(self) -> bool:
        """Whether the answer is right. There must be one."""
        assert self.item is not None
        return self.round.is_right(self.item)


@dataclass
class PracticeState:
    """A reviewer's position in a practice round.

    Attributes:
        again: another round was requested and has no answers yet.
        on_screen: the id of the item answered last, until the reviewer goes on.
        skipped: ids of items that come back at the end of the round.
        screen: gives the window its name. Nothing is leased.
    """

    engine: Engine
    reviewer_id: int
    again: bool = False
    on_screen: int | None = None
    skipped: list[int] = field(default_factory=list)
    keyboard: Keyboard = field(default_factory=Keyboard)
    screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        """Give each position its own window."""
        self.screen = Screen(self.reviewer_id)

    @property
    def typing(self) -> bool:
        """Always False: there are no text fields here."""
        return False

    def ignore_key(self) -> None:
        """Do nothing after a key that was pressed too early: the card is still there."""

    def view(self) -> PracticeView:
        """Read what to draw now."""
        with reading(self.engine) as session:
            take = practice.next_round if self.again else practice.current_round
            found = take(session, self.reviewer_id)
            item = self._item(found)
            if item is None:
                self.keyboard.show(NOTHING)
                return PracticeView(found)
            answer = found.answers.get(item.id)
            shown = mixing.as_pending(session, card(session, item.variant_id), self.reviewer_id)
        self.keyboard.show(Shows(item.uid, 2 * found.number + (answer is not None)))
        return PracticeView(found, item, shown, answer)

    def _item(self, found: PracticeRound) -> Gold | None:
        """The item that was just answered, or else the next one; skipped items come last."""
        for item in found.answered:
            if item.id == self.on_screen:
                return item
        left = sorted(
            found.left,
            key=lambda item: self.skipped.index(item.id) if item.id in self.skipped else -1,
        )
        return left[0] if left else None

    def answer(self, found: PracticeRound, item: Gold, verdict: Verdict, reason: str = "") -> None:
        """A, X, E or a digit: answer, and stay on the item to show the right answer."""
        with writing(self.engine) as session:
            practice.answer(
                session,
                item,
                verdict,
                reviewer_id=self.reviewer_id,
                round=found.number,
                reason=reason,
            )
        self.again, self.on_screen = False, item.id

    def skip(self, item: Gold) -> None:
        """S: go on. The item comes back at the end."""
        if item.id in self.skipped:
            self.skipped.remove(item.id)
        self.skipped.append(item.id)

    def go_on(self) -> None:
        """N: the next item, or the score."""
        self.on_screen = None

    def once_more(self) -> None:
        """N on the score: start another round."""
        self.again, self.on_screen, self.skipped = True, None, []
