"""Agreement of a model's opinions with people's verdicts on the same variants, by type."""

from typing import NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, case, func, literal_column, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.coefficients import kappa
from curation.decisions.history import not_retracted
from curation.decisions.reviewers import whose
from curation.decisions.storing import counts_still
from db.models import (
    Decision,
    Opinion,
    OpinionLook,
    Reviewer,
    ReviewerKind,
    TypeRow,
    Variant,
    Verdict,
)


class Agreement(NamedTuple):
    """Agreement of one model's opinions with people's verdicts.

    The unit is a pair: a variant that the model judged and a person's latest verdict on it that
    counts, for the same text of the anchor. Each of the two either accepts the variant as it is or
    does not; an edit counts as not accepting it.

    Attributes:
        both: number of pairs in which both accept it.
        model_only, person_only: number of pairs in which only one accepts it.
        neither: number of pairs in which neither does.
        after_looking: number of further pairs, left out because the person had seen the opinion.
    """

    type_id: str
    both: int = 0
    model_only: int = 0
    person_only: int = 0
    neither: int = 0
    after_looking: int = 0

    @property
    def pairs(self) -> int:
        """The number of pairs that count."""
        return self.both + self.model_only + self.person_only + self.neither

    @property
    def share(self) -> float | None:
        """The share of pairs that agree, in [0, 1]; None without pairs."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, in [-1, 1]; None if it is undefined (no pairs, or only one verdict)."""
        found = kappa(np.array([[self.both, self.model_only], [self.person_only, self.neither]]))
        return None if np.isnan(found) else float(found)


def agreement(session: Session, reviewer_id: int) -> list[Agreement]:
    """The agreement for each type with pairs, in the taxonomy's order.

    Args:
        reviewer_id: the model's.
    """
    taken = col(Opinion.verdict) == Verdict.ACCEPT
    accepted = col(Decision.verdict) == Verdict.ACCEPT
    cell = case((knew_opinion(), 4), (taken & accepted, 0), (taken, 1), (accepted, 2), else_=3)
    latest = (
        select(func.max(col(Decision.id)))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .join(Opinion, col(Opinion.variant_id) == Decision.variant_id)
        .where(
            col(Opinion.reviewer_id) == reviewer_id,
            col(Reviewer.kind) == ReviewerKind.PERSON,
            not_retracted(),
        )
        .group_by(col(Decision.variant_id), whose())
    )
    query = (
        select(col(Variant.type_id), cell.label("cell"), func.count())
        .select_from(Decision)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .join(
            Opinion,
            (col(Opinion.variant_id) == Variant.id)
            & (col(Opinion.reviewer_id) == reviewer_id)
            & (col(Opinion.since_version) == col(Variant.since_version)),
        )
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(col(Decision.id).in_(latest), counts_still())
        .group_by(col(TypeRow.ordinal), col(Variant.type_id), literal_column("cell"))
        .order_by(col(TypeRow.ordinal), col(Variant.type_id))
    )
    cells: dict[str, list[int]] = {}
    for type_id, number, count in session.execute(query):
        cells.setdefault(type_id, [0] * 5)[number] = count
    return [Agreement(type_id, *counts) for type_id, counts in cells.items()]


def verdict_counts(session: Session, reviewer_id: int) -> dict[Verdict, int]:
    """How often a model has given each verdict."""
    query = (
        select(col(Opinion.verdict), func.count())
        .where(col(Opinion.reviewer_id) == reviewer_id)
        .group_by(col(Opinion.verdict))
    )
    return {Verdict(verdict): number for verdict, number in session.execute(query)}


def together(rows: list[Agreement]) -> Agreement:
    """The agreement for all types together, with the type 'all'."""
    counts = [row[1:] for row in rows]
    return Agreement("all", *(sum(some[index] for some in counts) for index in range(5)))


# -- Which decisions were made after seeing a model's opinion -------------------------------------


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
