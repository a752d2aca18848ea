"""Decisions on a card that another person or window had decided on just before."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.review.people.reviewers import shown_name, whose
from db.models import Decision, Reviewer, Status, Variant, Verdict


class LateDecision(NamedTuple):
    """A decision made on a card that was on the screen when another decision was stored.

    Attributes:
        text: the variant's text.
        status: the variant's current status.
    """

    id: int
    reviewer_id: int
    reviewer: str
    verdict: Verdict
    reason: str
    settles: bool
    text: str
    status: Status


# Built once, because every card that is drawn needs it.
_OWN = aliased(Decision)
_LATE = (
    select(
        col(Decision.id),
        whose(),
        shown_name(),
        col(Decision.verdict),
        col(Decision.reason),
        col(Decision.adjudicates),
        col(Variant.text),
        col(Variant.status),
    )
    .join(_OWN, col(_OWN.variant_id) == col(Decision.variant_id))
    .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
    .join(Variant, col(Variant.id) == col(Decision.variant_id))
    .where(
        col(_OWN.action_id).in_(bindparam("actions", expanding=True)),
        col(Decision.id) > col(_OWN.id),
        col(Decision.variant_version) <= col(_OWN.variant_version),
        col(Decision.action_id) != col(_OWN.action_id),
        col(Decision.verdict) != Verdict.RETRACT,
        col(Variant.verdicts_by) == "",
    )
    .order_by(col(Decision.id))
)


def late_decisions(session: Session, action_ids: Collection[str]) -> list[LateDecision]:
    """Decisions made after one of these actions on a card drawn before it, in order of time.

    If several people are assigned to the variant, only after all of them have decided.
    """
    if not action_ids:
        return []
    rows = session.connection().execute(_LATE, {"actions": list(action_ids)})
    return [LateDecision(*row) for row in rows]
