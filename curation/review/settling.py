"""Settling a conflict: a decision that outranks the verdicts which contradict each other.

It is stored as an adjudication (see ``curation.review.status``). While one stands, other decisions
on the variant change nothing, so a later decision on a settled variant has to settle it, too.
"""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review.decisions import chunks, counts_still
from curation.review.gold.items import gold_items
from curation.review.history import stands
from curation.review.shown_card import ShownCard, find_variant, shown
from db.errors import HedgerowError
from db.models import Decision, Reviewer, ReviewerKind, Status, Variant


def contested(session: Session, variants: Iterable[Variant]) -> frozenset[int]:
    """The ids of those that are in conflict or whose conflict has been settled.

    Not while more people are to decide on them.
    """
    variants = [variant for variant in variants if not variant.verdicts_by]
    found = {variant.id for variant in variants if variant.status == Status.CONFLICT}
    # Nobody has decided on what is pending, and no person on what only models have accepted.
    decided = [
        variant.id
        for variant in variants
        if variant.status not in (Status.PENDING, Status.CONFLICT) and not variant.model_only
    ]
    for ids in chunks(decided):
        query = (
            select(col(Decision.variant_id))
            .join(Variant, col(Variant.id) == col(Decision.variant_id))
            .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
            .where(
                col(Decision.variant_id).in_(ids),
                col(Decision.adjudicates),
                col(Reviewer.kind) == ReviewerKind.PERSON,  # a model's is no settled conflict
                stands(),
                counts_still(),
            )
        )
        found.update(session.execute(query).scalars())
    return frozenset(found)


def shown_to_settle(session: Session, uid: str) -> ShownCard:
    """A showing of the variant with this uid to somebody who settles what reviewers disagree about.

    Raises:
        HedgerowError: there is no such variant, reviewers don't disagree about it, or it is a gold
            item.
    """
    variant = find_variant(session, uid)
    if variant.verdicts_by:
        raise HedgerowError(
            f"More people are to decide on {uid} before anybody settles it; wait for them, or "
            "change the assignment ('hedgerow review assign')."
        )
    if gold_items(session, of=[variant.id]):
        raise HedgerowError(
            f"{uid} is a gold item, which settles it; remove it ('hedgerow review gold remove "
            f"{uid}') to settle it differently."
        )
    if not contested(session, [variant]):
        raise HedgerowError(
            f"Expected a variant in conflict, found {uid}, which is {variant.status}; accept "
            "or reject it without settling."
        )
    return shown(variant, settles=True)
