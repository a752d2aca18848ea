"""Practice rounds: gold items for training, one after the other, each with feedback.

What somebody answers here is no decision. A round has every training item in force; whoever has
finished one can begin another.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import bucket
from curation.project.opening import PRACTISE_FIRST, get_setting
from curation.review.decisions import chunks
from curation.review.gold.items import Gold, gold_items
from curation.review.people.reviewers import is_by, whose
from curation.taxonomy.project_types import all_types
from curation.taxonomy.reject_reasons import applicable_reason
from db.columns import now
from db.engine import insert_new
from db.errors import HedgerowError
from db.models import Decision, GoldUse, PracticeAnswer, Reviewer, Verdict

NEW = 100
"""Decisions from which on somebody is no new reviewer, to whom practice is offered."""


class Answer(NamedTuple):
    """What somebody answered on a training item."""

    gold_id: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class PracticeRound:
    """How far a reviewer has come in a round.

    Attributes:
        number: of the round, from 1.
        items: in their order; those that the reviewer made themselves are none of them.
        answers: by the id of the item.
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
        """Whether the answer to this item is right; it must have one."""
        return item.is_matched_by(self.answers[item.id].verdict)

    def score(self) -> "Score":
        """All answers together."""
        return Score(sum(map(self.is_right, self.answered)), len(self.answered))

    def by_type(self) -> dict[str, "Score"]:
        """The same by type, in the order of the items."""
        right = Counter(item.type_id for item in self.answered if self.is_right(item))
        answered = Counter(item.type_id for item in self.answered)
        return {type_id: Score(right[type_id], number) for type_id, number in answered.items()}


class Score(NamedTuple):
    """How many answers are right."""

    right: int
    answered: int


def current_round(session: Session, reviewer_id: int) -> PracticeRound:
    """The round that a reviewer is in: the one of their last answer, or the first."""
    return _round(session, reviewer_id, max(1, _last_round(session, reviewer_id)))


def next_round(session: Session, reviewer_id: int) -> PracticeRound:
    """The round after that of the reviewer's last answer; it begins with its first answer."""
    return _round(session, reviewer_id, _last_round(session, reviewer_id) + 1)


def _last_round(session: Session, reviewer_id: int) -> int:
    query = select(func.max(col(PracticeAnswer.round))).where(
        is_by(session, PracticeAnswer.reviewer_id, reviewer_id)
    )
    return session.execute(query).scalar() or 0


def _round(session: Session, reviewer_id: int, number: int) -> PracticeRound:
    found = training_items(session, reviewer_id)
    places = {type_id: place for place, type_id in enumerate(all_types(session))}
    # By type, since each has its own guideline; within a type in no order that tells anything.
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
    """The items that a reviewer can practise on: nobody practises on their own."""
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
    """Store an answer; the first one on an item in a round counts.

    Raises:
        HedgerowError: the reason is unknown, or not one for the variant's type.
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
    """How many items a new reviewer has still to practise on; 0 for somebody who is not new.

    Somebody is new until they have finished a round, or have decided on ``NEW`` variants.
    """
    if not training_items(session, reviewer_id):
        return 0
    found = current_round(session, reviewer_id)
    if found.number > 1 or found.is_finished or _decisions(session, reviewer_id, NEW) >= NEW:
        return 0
    return len(found.left)


def must_practise(session: Session, reviewer_id: int) -> bool:
    """Whether the project has this reviewer finish a round before they decide on anything."""
    return (
        bool(get_setting(session, PRACTISE_FIRST))
        and _decisions(session, reviewer_id, 1) == 0
        and offered(session, reviewer_id) > 0
    )


def _decisions(session: Session, reviewer_id: int, at_most: int) -> int:
    query = select(col(Decision.id)).where(is_by(session, Decision.reviewer_id, reviewer_id))
    return len(session.execute(query.limit(at_most)).all())


def scores(session: Session) -> dict[int, tuple[int, Score]]:
    """By person: the number of their last round, and how they did in it."""
    query = (
        select(
            whose(),
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
    """By item, whether it is right to accept it; also of those no longer in force."""
    found: dict[int, bool] = {}
    for ids in chunks(gold_ids):
        query = select(col(Decision.id), col(Decision.verdict)).where(col(Decision.id).in_(ids))
        found |= {key: verdict is Verdict.ACCEPT for key, verdict in session.execute(query)}
    return found
