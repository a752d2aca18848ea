"""A practice round in one window: the item on the screen, its answer, and the actions of the keys.

There are no widgets here; the Team page draws them.
"""

from dataclasses import dataclass, field

from sqlalchemy import Engine

from curation.review.browser_window.cards_on_screen import Screen
from curation.review.browser_window.keyboard import NOTHING, Keyboard, Shows
from curation.review.cards import Card, card
from curation.review.gold import mixing, practice
from curation.review.gold.items import Gold
from curation.review.gold.practice import Answer, PracticeRound
from db.engine import reading, writing
from db.models import Verdict


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
