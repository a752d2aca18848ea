"""Practice rounds: gold items for training, with feedback after each answer.

Answers are not decisions. A round contains all current training items, and reviewers can start
another round when they have finished one.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.leases import Screen
from curation.decisions.reviewers import is_by, person_id_now
from curation.decisions.storing import rows_with
from curation.project.settings import PRACTISE_FIRST, get_setting
from curation.review.browser_window.keyboard import NOTHING, Keyboard, Shows
from curation.review.cards import Card, card
from curation.review.gold import mixing
from curation.review.gold.items import Gold, gold_items
from curation.splits import bucket
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import applicable_reason
from db.columns import now
from db.engine import insert_new, reading, writing
from db.errors import HedgerowError
from db.models import Decision, GoldUse, PracticeAnswer, Reviewer, Verdict

NEW = 100
"""Reviewers with fewer decisions are new, and practice is offered to them."""


class Answer(NamedTuple):
    """A reviewer's answer on a training item."""

    gold_id: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class PracticeRound:
    """A reviewer's progress in a practice round.

    Attributes:
        number: the number of the round, from 1.
        items: the items in order, without those that the reviewer made.
        answers: the answers by id of the item.
    """

    number: int
    items: tuple[Gold, ...]
    answers: dict[int, Answer]

    @property
    def answered(self) -> tuple[Gold, ...]:
        """The items with an answer."""
        return tuple(item for item in self.items if item.id in self.answers)

    @property
    def left(self) -> tuple[Gold, ...]:
        """The items without one."""
        return tuple(item for item in self.items if item.id not in self.answers)

    @property
    def is_finished(self) -> bool:
        """Whether every item has an answer."""
        return bool(self.items) and not self.left

    def is_right(self, item: Gold) -> bool:
        """Whether the answer to this item is right. There must be an answer."""
        return item.is_matched_by(self.answers[item.id].verdict)

    def score(self) -> "Score":
        """The score over all types."""
        return Score(sum(map(self.is_right, self.answered)), len(self.answered))

    def by_type(self) -> dict[str, "Score"]:
        """The score by type, in the order of the items."""
        right = Counter(item.type_id for item in self.answered if self.is_right(item))
        answered = Counter(item.type_id for item in self.answered)
        return {type_id: Score(right[type_id], number) for type_id, number in answered.items()}


class Score(NamedTuple):
    """The number of right answers, and of all answers."""

    right: int
    answered: int


def current_round(session: Session, reviewer_id: int) -> PracticeRound:
    """The reviewer's current round: that of their last answer, or the first."""
    return _round(session, reviewer_id, max(1, _last_round(session, reviewer_id)))


def next_round(session: Session, reviewer_id: int) -> PracticeRound:
    """The round after that of the reviewer's last answer. It starts with its first answer."""
    return _round(session, reviewer_id, _last_round(session, reviewer_id) + 1)


def _last_round(session: Session, reviewer_id: int) -> int:
    query = select(func.max(col(PracticeAnswer.round))).where(
        is_by(session, PracticeAnswer.reviewer_id, reviewer_id)
    )
    return session.execute(query).scalar() or 0


def _round(session: Session, reviewer_id: int, number: int) -> PracticeRound:
    found = training_items(session, reviewer_id)
    places = {type_id: place for place, type_id in enumerate(all_types(session))}
    # By type, because each has its own guideline; within a type, in a random order.
    found.sort(
        key=lambda item: (places[item.type_id], bucket(f"{number} {item.uid}", salt="practice"))
    )
    query = (
        select(col(PracticeAnswer.gold_id), col(PracticeAnswer.verdict), col(PracticeAnswer.reason))
        .where(
            is_by(session, PracticeAnswer.reviewer_id, reviewer_id),
            col(PracticeAnswer.round) == number,
        )
        .order_by(col(PracticeAnswer.id))
    )
    answers = {row[0]: Answer(*row) for row in session.execute(query)}
    return PracticeRound(number, tuple(found), answers)


def training_items(session: Session, reviewer_id: int) -> list[Gold]:
    """The items that a reviewer can practise on, without those that they made."""
    found = gold_items(session, use=GoldUse.TRAINING)
    return [item for item in found if item.maker_id != reviewer_id]


def answer(
    session: Session,
    item: Gold,
    verdict: Verdict,
    *,
    reviewer_id: int,
    round: int,
    reason: str = "",
) -> None:
    """Store an answer. The first answer on an item in a round counts.

    Raises:
        HedgerowError: the reason is unknown, or does not apply to the variant's type.
    """
    if verdict is Verdict.RETRACT:
        raise HedgerowError("Expected accept, reject or edit, found retract.")
    if reason:
        applicable_reason(reason, all_types(session)[item.type_id])
    insert_new(
        session,
        PracticeAnswer,
        [
            {
                "reviewer_id": reviewer_id,
                "gold_id": item.id,
                "round": round,
                "verdict": verdict,
                "reason": reason,
                "answered_at": now(),
            }
        ],
    )


def offered(session: Session, reviewer_id: int) -> int:
    """How many items a new reviewer still has to practise on; 0 for other reviewers.

    A reviewer is new until they have finished a round or made ``NEW`` decisions.
    """
    if not training_items(session, reviewer_id):
        return 0
    found = current_round(session, reviewer_id)
    if found.number > 1 or found.is_finished or _decisions(session, reviewer_id, NEW) >= NEW:
        return 0
    return len(found.left)


def must_practise(session: Session, reviewer_id: int) -> bool:
    """Whether this reviewer must finish a practice round before they can decide."""
    return (
        bool(get_setting(session, PRACTISE_FIRST))
        and _decisions(session, reviewer_id, 1) == 0
        and offered(session, reviewer_id) > 0
    )


def _decisions(session: Session, reviewer_id: int, at_most: int) -> int:
    query = select(col(Decision.id)).where(is_by(session, Decision.reviewer_id, reviewer_id))
    return len(session.execute(query.limit(at_most)).all())


def scores(session: Session) -> dict[int, tuple[int, Score]]:
    """By person: the number of their last round, and their score in it."""
    query = (
        select(
            person_id_now(),
            col(PracticeAnswer.round),
            col(PracticeAnswer.gold_id),
            col(PracticeAnswer.verdict),
        )
        .join(Reviewer, col(Reviewer.id) == col(PracticeAnswer.reviewer_id))
        .order_by(col(PracticeAnswer.id))
    )
    rows = session.execute(query).all()
    right = _right_verdicts(session, {gold_id for _, _, gold_id, _ in rows})
    last: dict[int, int] = {}
    for person, number, _, _ in rows:
        last[person] = max(number, last.get(person, 0))
    given: dict[int, dict[int, bool]] = {person: {} for person in last}
    for person, number, gold_id, verdict in rows:
        if number == last[person]:
            given[person][gold_id] = (verdict is Verdict.ACCEPT) == right[gold_id]
    return {
        person: (last[person], Score(sum(answers.values()), len(answers)))
        for person, answers in given.items()
    }


def _right_verdicts(session: Session, gold_ids: Collection[int]) -> dict[int, bool]:
    """By item, whether 'accept' is right; removed items included."""
    query = select(col(Decision.id), col(Decision.verdict))
    found = rows_with(session, query, col(Decision.id), gold_ids)
    return {key: verdict is Verdict.ACCEPT for key, verdict in found}


# -- a practice round in one window ---------------------------------------------------------------


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
            take = next_round if self.again else current_round
            found = take(session, self.reviewer_id)
            item = self._item(found)
            if item is None:
                self.keyboard.show(NOTHING)
                return PracticeView(found)
            given = found.answers.get(item.id)
            shown = mixing.as_pending(session, card(session, item.variant_id), self.reviewer_id)
        self.keyboard.show(Shows(item.uid, 2 * found.number + (given is not None)))
        return PracticeView(found, item, shown, given)

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
            answer(
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
