"""Settle a conflict with a decision that outranks the verdicts that contradict each other.

It is stored as an adjudication (see ``curation.decisions.status``). Until it is undone, other
decisions on the variant change nothing, so a later decision on a settled variant must settle it
again.
"""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import is_settlement
from curation.decisions.shown_card import ShownCard, find_variant, shown
from curation.decisions.storing import chunks
from curation.review.gold.items import gold_items
from db.errors import HedgerowError
from db.models import Decision, Reviewer, Status, Variant


def contested(session: Session, variants: Iterable[Variant]) -> frozenset[int]:
    """The ids of the variants that are in conflict or whose conflict has been settled.

    Variants on which assigned people still have to decide are left out.
    """
    variants = [variant for variant in variants if not variant.verdicts_by]
    found = {variant.id for variant in variants if variant.status == Status.CONFLICT}
    # No person has decided on pending variants and on those accepted only by models.
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
            .where(col(Decision.variant_id).in_(ids), is_settlement())
        )
        found.update(session.execute(query).scalars())
    return frozenset(found)


def shown_to_settle(session: Session, uid: str) -> ShownCard:
    """A showing of the variant with this uid, for a decision that settles it.

    Raises:
        HedgerowError: there is no such variant, it is not in conflict, or it is a gold item.
    """
    variant = find_variant(session, uid)
    if variant.verdicts_by:
        raise HedgerowError(
            f"Not everybody assigned to {uid} has decided yet; wait for them, or change the "
            "assignment with 'hedgerow review assign'."
        )
    if gold_items(session, of=[variant.id]):
        raise HedgerowError(
            f"{uid} is a gold item, which settles it; to settle it differently, remove it with "
            f"'hedgerow review gold remove {uid}'."
        )
    if not contested(session, [variant]):
        raise HedgerowError(
            f"Expected a variant in conflict, found {uid}, which is {variant.status}; accept or "
            "reject it instead."
        )
    return shown(variant, settles=True)
