"""Change the assignment, and update the derived columns of variants."""

from collections.abc import Iterator

from sqlalchemy import select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.opening import ASSIGNMENT, put_setting
from curation.review.assignment.plan import Plan, checked_plan, current_plan
from curation.review.decisions import chunks, refresh_kept
from db.models import Decision, Reviewer, ReviewerKind, Variant


def assign(session: Session, *, reviewers: int, share: float) -> Plan:
    """Have several people decide on a share of the variants.

    Decisions are kept, and earlier ones count, so another change can undo this one.

    Args:
        reviewers: people per assigned variant.
        share: the share of variants to assign, in [0, 1]; 0 ends the assignment.

    Raises:
        HedgerowError: an argument is out of range.
    """
    plan = checked_plan(reviewers=reviewers, share=share)
    before = current_plan(session)
    if plan == before:
        return plan
    if session.get_bind().dialect.name == "postgresql":
        # Concurrent decisions wait, so that each sees either the old plan or the new one.
        session.connection().execute(text("LOCK TABLE variant IN EXCLUSIVE MODE"))
    put_setting(session, ASSIGNMENT, plan._asdict() if plan else None)
    session.flush()
    for ids in chunks(_affected(session, before, plan)):
        refresh_kept(session, ids)
    return plan


def _affected(session: Session, *plans: Plan) -> Iterator[int]:
    """The variants with decisions of people that one of the plans assigns to several people."""
    people = select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)
    decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id).in_(people))
    query = select(col(Variant.id), col(Variant.uid)).where(
        col(Variant.id).in_(decided), col(Variant.author_id).is_(None)
    )
    for variant_id, uid in session.execute(query):
        if any(plan.wanted(uid) > 1 for plan in plans):
            yield variant_id
