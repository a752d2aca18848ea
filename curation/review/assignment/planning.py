"""Changing the assignment, and keeping on the variants what follows from it."""

from collections.abc import Iterator

from sqlalchemy import select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.opening import ASSIGNMENT, put_setting
from curation.review.assignment.plan import Plan, checked_plan, current_plan
from curation.review.decisions import chunks, refresh_kept
from db.models import Decision, Reviewer, ReviewerKind, Variant


def assign(session: Session, *, reviewers: int, share: float) -> Plan:
    """Have several people decide on a share of the variants; no decision is touched.

    Whoever has decided before counts, so that a change can be taken back by another one.

    Args:
        reviewers: how many people decide on each variant of the share.
        share: of the variants, in [0, 1]; 0 ends the assignment.

    Raises:
        HedgerowError: one of the two is out of range.
    """
    plan = checked_plan(reviewers=reviewers, share=share)
    before = current_plan(session)
    if plan == before:
        return plan
    if session.get_bind().dialect.name == "postgresql":
        # Whoever decides meanwhile goes by the plan of before or of afterwards, and waits for it.
        session.connection().execute(text("LOCK TABLE variant IN EXCLUSIVE MODE"))
    put_setting(session, ASSIGNMENT, plan._asdict() if plan else None)
    session.flush()
    for ids in chunks(_concerned(session, before, plan)):
        refresh_kept(session, ids)
    return plan


def _concerned(session: Session, *plans: Plan) -> Iterator[int]:
    """The variants that people have decided on and of which a plan wants more."""
    people = select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)
    decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id).in_(people))
    query = select(col(Variant.id), col(Variant.uid)).where(
        col(Variant.id).in_(decided), col(Variant.author_id).is_(None)
    )
    for variant_id, uid in session.execute(query):
        if any(plan.wanted(uid) > 1 for plan in plans):
            yield variant_id
