"""People's blind verdicts and a judge's opinions on the variants of a sample."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import not_retracted
from curation.decisions.reviewers import whose
from curation.decisions.storing import chunks, counts_still
from curation.diagnostics.model_verdicts import knew_opinion
from db.models import Decision, Opinion, Reviewer, ReviewerKind, TypeRow, Variant, Verdict

STRICTEST = (Verdict.REJECT, Verdict.EDIT, Verdict.ACCEPT)
"""If people disagree on a variant, the first of these verdicts that somebody gave counts."""


class PeopleSay(NamedTuple):
    """People's blind verdict on a variant.

    Attributes:
        verdict: the strictest one if they disagree.
        people: how many decided blind.
        disagree: whether they gave different verdicts.
    """

    verdict: Verdict
    people: int
    disagree: bool


class JudgeSays(NamedTuple):
    """A judge's opinion on a variant; certainty in [0, 1] or None."""

    verdict: Verdict
    certainty: float | None


def blind_verdicts(session: Session, variant_ids: Sequence[int]) -> dict[int, PeopleSay]:
    """People's blind verdicts by variant; variants without one are left out.

    For each person, the latest blind decision counts that was not undone, unless they had looked at
    an opinion before. Decisions that a person makes after seeing other verdicts do not count.
    """
    found: defaultdict[int, list[Verdict]] = defaultdict(list)
    for ids in chunks(variant_ids):
        latest = (
            select(func.max(col(Decision.id)))
            .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
            .join(Variant, col(Variant.id) == Decision.variant_id)
            .where(
                col(Decision.variant_id).in_(ids),
                col(Reviewer.kind) == ReviewerKind.PERSON,
                col(Decision.blind),
                col(Decision.verdict) != Verdict.RETRACT,
                ~col(Decision.adjudicates),
                ~knew_opinion(),
                not_retracted(),
                counts_still(),
            )
            .group_by(col(Decision.variant_id), whose())
        )
        query = select(col(Decision.variant_id), col(Decision.verdict)).where(
            col(Decision.id).in_(latest)
        )
        for variant_id, verdict in session.execute(query.order_by(col(Decision.id))):
            found[variant_id].append(verdict)
    return {variant_id: _together(verdicts) for variant_id, verdicts in found.items()}


def _together(verdicts: Sequence[Verdict]) -> PeopleSay:
    strictest = next(verdict for verdict in STRICTEST if verdict in verdicts)
    return PeopleSay(strictest, len(verdicts), len(set(verdicts)) > 1)


def opinions_on(
    session: Session, variant_ids: Sequence[int], reviewer_id: int
) -> dict[int, JudgeSays]:
    """A judge's opinions by variant, for the current text of the anchors."""
    found: dict[int, JudgeSays] = {}
    for ids in chunks(variant_ids):
        query = (
            select(col(Opinion.variant_id), col(Opinion.verdict), col(Opinion.certainty))
            .join(Variant, col(Variant.id) == Opinion.variant_id)
            .where(
                col(Opinion.variant_id).in_(ids),
                col(Opinion.reviewer_id) == reviewer_id,
                col(Opinion.since_version) == col(Variant.since_version),
            )
        )
        for variant_id, verdict, certainty in session.execute(query):
            found[variant_id] = JudgeSays(verdict, certainty)
    return found


def types_of(session: Session, variant_ids: Sequence[int]) -> dict[int, str]:
    """The type of each variant, sorted in taxonomy order."""
    rows: list[tuple[int, str, int]] = []
    for ids in chunks(variant_ids):
        query = (
            select(col(TypeRow.ordinal), col(Variant.type_id), col(Variant.id))
            .join(TypeRow, col(TypeRow.id) == Variant.type_id)
            .where(col(Variant.id).in_(ids))
        )
        rows += [(place, type_id, key) for place, type_id, key in session.execute(query)]
    return {variant_id: type_id for _, type_id, variant_id in sorted(rows)}
