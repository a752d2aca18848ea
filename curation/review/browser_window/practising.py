"""A practice round in one window: the item on the screen, its answer, and what the keys do.

No widgets here: the Team page draws it.
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
    """What is to be drawn now.

    Attributes:
        item: the item on the screen; None before the first round where there is none, and after the
            last one.
        card: its card, like that of a pending variant.
        answer: what was answered on it; None until then.
    """

    round: PracticeRound
    item: Gold | None = None
    card: Card | None = None
    answer: Answer | None = None

    @property
    def is_right(self) -> bool:
        """Whether the answer is right; there must be one."""
        assert self.item is not None
        return self.round.is_right(self.item)


@dataclass
class PracticeState:
    """Where a reviewer is in a practice round.

    Attributes:
        again: another round was asked for, and nothing is answered in it yet.
        on_screen: the id of the item that was answered last, until the next one is asked for.
        skipped: ids of items that come back at the end of the round.
        screen: gives the window its name; nothing is leased.
    """

    engine: Engine
    reviewer_id: int
    again: bool = False
    on_screen: int | None = None
    skipped: list[int] = field(default_factory=list)
    keyboard: Keyboard = field(default_factory=Keyboard)
    screen: Screen = field(init=False)

    def __post_init__(self) -> None:
        """Every place is a window of its own."""
        self.screen = Screen(self.reviewer_id)

    @property
    def typing(self) -> bool:
        """Never: nothing is written here."""
        return False

    def pass_over(self) -> None:
        """Say nothing of a key that came too early: the card is still there."""

    def view(self) -> PracticeView:
        """Read what is to be seen now."""
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
        """The one that was just answered, else the next one; those skipped come last."""
        for item in found.answered:
            if item.id == self.on_screen:
                return item
        left = sorted(
            found.left,
            key=lambda item: self.skipped.index(item.id) if item.id in self.skipped else -1,
        )
        return left[0] if left else None

    def answer(self, found: PracticeRound, item: Gold, verdict: Verdict, reason: str = "") -> None:
        """A, X, E or a digit: answer, and stay to see what is right."""
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
        """S: go on; the item comes back at the end."""
        if item.id in self.skipped:
            self.skipped.remove(item.id)
        self.skipped.append(item.id)

    def go_on(self) -> None:
        """N: the next item, or the score."""
        self.on_screen = None

    def once_more(self) -> None:
        """N on the score: begin another round."""
        self.again, self.on_screen, self.skipped = True, None, []
