"""How far a model that gives opinions agrees with people: per type, on what both have judged."""

from typing import NamedTuple

import numpy as np
from sqlalchemy import case, func, literal_column, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review.agreement.coefficients import kappa
from curation.review.decisions import counts_still
from curation.review.history import stands
from curation.review.opinions.looks import knew_opinion
from curation.review.people.reviewers import whose
from db.models import (
    Decision,
    Opinion,
    Reviewer,
    ReviewerKind,
    TypeRow,
    Variant,
    Verdict,
)


class Agreement(NamedTuple):
    """How one model's opinions and people's verdicts on the same variants go together.

    Counted are pairs: a variant and a person's latest verdict on it that stands, on the anchor
    wording that the model judged. Both either take the variant as it stands or do not (a person's
    edit does not).

    Attributes:
        both: pairs in which both take it.
        model_only, person_only: those in which one alone does.
        neither: those in which neither does.
        after_looking: pairs left out of all these, because the person had seen the opinion.
    """

    type_id: str
    both: int = 0
    model_only: int = 0
    person_only: int = 0
    neither: int = 0
    after_looking: int = 0

    @property
    def pairs(self) -> int:
        """All pairs that count."""
        return self.both + self.model_only + self.person_only + self.neither

    @property
    def share(self) -> float | None:
        """The share of the pairs that agree, in [0, 1]; None without pairs."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, in [-1, 1]; None where it is not defined (no pairs, or one verdict)."""
        found = kappa(np.array([[self.both, self.model_only], [self.person_only, self.neither]]))
        return None if np.isnan(found) else float(found)


def agreement(session: Session, reviewer_id: int) -> list[Agreement]:
    """One row for each type with a pair, in the taxonomy's order.

    Args:
        reviewer_id: of the model.
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
            stands(),
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
    """How often a model has given which verdict, whatever people say."""
    query = (
        select(col(Opinion.verdict), func.count())
        .where(col(Opinion.reviewer_id) == reviewer_id)
        .group_by(col(Opinion.verdict))
    )
    return {Verdict(verdict): number for verdict, number in session.execute(query)}


def together(rows: list[Agreement]) -> Agreement:
    """All types together; its type is 'all'."""
    counts = [row[1:] for row in rows]
    return Agreement("all", *(sum(some[index] for some in counts) for index in range(5)))
