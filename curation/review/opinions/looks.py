"""Which decisions were made after seeing a model's opinion."""

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from db.models import Decision, OpinionLook, Reviewer


def knew_opinion() -> ColumnElement[bool]:
    """SQL, over ``Decision``: the reviewer had already seen an opinion on the variant."""
    decision, who, looker = aliased(Decision), aliased(Reviewer), aliased(Reviewer)
    # Computed once from the few stored looks, not for every decision.
    after_looking = (
        select(col(decision.id))
        .select_from(OpinionLook)
        .join(looker, col(looker.id) == col(OpinionLook.reviewer_id))
        .join(decision, col(decision.variant_id) == col(OpinionLook.variant_id))
        .join(who, col(who.id) == col(decision.reviewer_id))
        .where(
            func.coalesce(who.merged_into_id, who.id)
            == func.coalesce(looker.merged_into_id, looker.id),
            col(OpinionLook.seen_at) < col(decision.decided_at),
        )
    )
    return col(Decision.id).in_(after_looking)
