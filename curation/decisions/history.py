"""Past decisions: on a variant, and by a reviewer."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.reviewers import is_by, person_id_now, shown_name
from curation.decisions.storing import counts_still, made_by_rule
from db.models import CueCorrection, Decision, Opinion, Reviewer, ReviewerKind, Variant, Verdict


class CueChange(NamedTuple):
    """The correction of a cue that was part of a decision."""

    before: str | None
    after: str | None


class PastDecision(NamedTuple):
    """A decision as shown in the history of a variant.

    Attributes:
        retracted: it has been undone.
        version: the version of the variant that was on the screen.
        counts: it was made on the anchor's current text. Earlier decisions only stay in the
            history.
        settles: it settles a conflict.
        cue: set if the reviewer corrected the variant's cue.
    """

    action_id: str
    version: int
    reviewer_id: int
    reviewer: str
    verdict: Verdict
    reason: str
    note: str
    decided_at: datetime
    blind: bool
    retracted: bool
    counts: bool
    settles: bool
    cue: CueChange | None

    @property
    def is_valid(self) -> bool:
        """Whether the status of the variant depends on it."""
        return self.counts and not self.retracted


def not_retracted() -> ColumnElement[bool]:
    """SQL: the decision is not a retract and has not been retracted."""
    retract = aliased(Decision)
    retracted = select(col(retract.id)).where(col(retract.retracts_id) == Decision.id).exists()
    return and_(col(Decision.verdict) != Verdict.RETRACT, ~retracted)


def is_settlement() -> ColumnElement[bool]:
    """SQL: the decision is a person's settlement of a conflict, and it counts.

    A model's adjudication, as in imported data, settles no conflict. For a join of ``Decision``,
    ``Variant`` and ``Reviewer``.
    """
    return and_(
        col(Decision.adjudicates),
        col(Reviewer.kind) == ReviewerKind.PERSON,
        not_retracted(),
        counts_still(),
    )


def decisions_with(*columns: Any) -> Select[Any]:
    """SQL: these columns of all decisions, each joined with its variant and its reviewer."""
    return (
        select(*columns)
        .select_from(Decision)
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
    )


def is_persons_reading() -> ColumnElement[bool]:
    """SQL, over ``decisions_with``: the verdict of a person who has read somebody else's variant.

    Left out are settlements, decisions by rule, a person's verdict on a variant that they wrote or
    edited themselves, and what was undone.
    """
    author = aliased(Reviewer)
    writer = select(func.coalesce(author.merged_into_id, author.id)).where(
        col(author.id) == col(Variant.author_id)
    )
    return and_(
        col(Reviewer.kind) == ReviewerKind.PERSON,
        ~col(Decision.adjudicates),
        ~made_by_rule(),
        or_(col(Variant.author_id).is_(None), person_id_now() != writer.scalar_subquery()),
        not_retracted(),
    )


def _is_opinion() -> ColumnElement[bool]:
    return select(col(Opinion.decision_id)).where(col(Opinion.decision_id) == Decision.id).exists()


def history(session: Session, variant_id: int) -> list[PastDecision]:
    """All decisions on a variant, oldest first. A retract only sets ``retracted`` on its decision.

    Models' second opinions are left out, even if they count: they are shown only on request (see
    ``curation.diagnostics.opinions``).
    """
    rows = session.execute(
        select(Decision, person_id_now(), shown_name(), ~not_retracted(), counts_still())
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .where(
            col(Decision.variant_id) == variant_id,
            col(Decision.verdict) != Verdict.RETRACT,
            ~_is_opinion(),
        )
        .order_by(col(Decision.id))
    )
    corrections = session.execute(
        select(
            col(CueCorrection.action_id), col(CueCorrection.before), col(CueCorrection.after)
        ).where(col(CueCorrection.variant_id) == variant_id)
    )
    cues = {action_id: CueChange(before, after) for action_id, before, after in corrections}
    return [
        PastDecision(
            action_id=decision.action_id,
            version=decision.variant_version,
            reviewer_id=reviewer_id,
            reviewer=name,
            verdict=decision.verdict,
            reason=decision.reason,
            note=decision.note,
            decided_at=decision.decided_at,
            blind=decision.blind,
            retracted=retracted,
            counts=counts,
            settles=decision.adjudicates,
            cue=cues.get(decision.action_id),
        )
        for decision, reviewer_id, name, retracted, counts in rows
    ]


def latest_of_each(past: Iterable[PastDecision]) -> list[PastDecision]:
    """Each reviewer's latest decision that counts, in the order of their first ones."""
    return list({decision.reviewer_id: decision for decision in past if decision.is_valid}.values())


def decided_by(session: Session, reviewer_id: int, variant_ids: Sequence[int]) -> set[int]:
    """Which of at most ``CHUNK`` variants this reviewer has a decision on that counts."""
    query = (
        select(col(Decision.variant_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(
            col(Decision.variant_id).in_(variant_ids),
            is_by(session, Decision.reviewer_id, reviewer_id),
            not_retracted(),
            counts_still(),
        )
    )
    return set(session.execute(query).scalars())


def replacement_of(session: Session, variant_id: int) -> str | None:
    """The uid of the variant that replaces this one after an edit; None if there is none."""
    query = (
        select(col(Variant.uid))
        .join(Decision, col(Decision.child_id) == col(Variant.id))
        .where(
            col(Decision.variant_id) == variant_id,
            col(Decision.verdict) == Verdict.EDIT,
            not_retracted(),
        )
        .order_by(col(Decision.id).desc())
        .limit(1)
    )
    return session.execute(query).scalar()


class OwnAction(NamedTuple):
    """One action of a reviewer: a key press or a bulk action.

    Attributes:
        variant_id, uid, type_id, text: the variant on the card, or the first of a bulk action.
        decisions: number of decisions. An edit makes two, on the original and on its child.
    """

    action_id: str
    variant_id: int
    uid: str
    type_id: str
    text: str
    verdict: Verdict
    reason: str
    note: str
    decided_at: datetime
    decisions: int


def last_actions(session: Session, reviewer_id: int, *, limit: int) -> list[OwnAction]:
    """The reviewer's latest actions that were not undone, latest first. One small query each."""
    found: list[OwnAction] = []
    before: int | None = None
    while len(found) < limit:
        query = select(col(Decision.action_id)).where(
            is_by(session, Decision.reviewer_id, reviewer_id), not_retracted()
        )
        if before is not None:
            query = query.where(col(Decision.id) < before)
        action_id = session.execute(query.order_by(col(Decision.id).desc()).limit(1)).scalar()
        if action_id is None:
            break
        before, action = _action(session, action_id, reviewer_id)
        found.append(action)
    return found


def _action(session: Session, action_id: str, reviewer_id: int) -> tuple[int, OwnAction]:
    """The id of the action's first decision, and the action."""
    of_action = and_(
        col(Decision.action_id) == action_id,
        is_by(session, Decision.reviewer_id, reviewer_id),
        col(Decision.verdict) != Verdict.RETRACT,
    )
    decision, variant = session.execute(
        select(Decision, Variant)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .where(of_action)
        .order_by(col(Decision.id))
        .limit(1)
    ).one()
    count = session.execute(select(func.count()).select_from(Decision).where(of_action))
    action = OwnAction(
        action_id=action_id,
        variant_id=decision.variant_id,
        uid=variant.uid,
        type_id=variant.type_id,
        text=variant.text,
        verdict=decision.verdict,
        reason=decision.reason,
        note=decision.note,
        decided_at=decision.decided_at,
        decisions=count.scalar_one(),
    )
    return decision.id, action


def actions_since(session: Session, reviewer_id: int, moment: datetime) -> set[str]:
    """The ids of the reviewer's actions since ``moment`` that were not undone."""
    query = (
        select(col(Decision.action_id))
        .where(
            is_by(session, Decision.reviewer_id, reviewer_id),
            col(Decision.id) > last_before(session, moment),
            not_retracted(),
        )
        .distinct()
    )
    return set(session.execute(query).scalars())


def last_before(session: Session, moment: datetime) -> int:
    """The id of the last decision before ``moment``, or 0.

    A binary search over ids, which grow with time; the times themselves have no index.
    """
    low, high = 0, session.execute(select(func.max(col(Decision.id)))).scalar_one() or 0
    while low < high:
        middle = (low + high + 1) // 2
        query = select(col(Decision.decided_at)).where(col(Decision.id) <= middle)
        at = session.execute(query.order_by(col(Decision.id).desc()).limit(1)).scalar()
        if at is not None and at >= moment:
            high = middle - 1
        else:
            low = middle
    return low
