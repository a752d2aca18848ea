"""Review outcomes of variants as they were written, by type, cue, genre or origin.

It counts the variants that are in use or superseded and that no reviewer wrote, because reviewers'
own texts say nothing about the quality of generated ones. Each is counted once, under one outcome:

    accepted    good as written
    edited      replaced by a reviewer's text or given another type (status superseded) rejected
    conflict    reviewers disagree pending     not decided

acceptance = (accepted + edited) / (accepted + edited + rejected + conflict), the share of decided
variants that led to a usable sentence. Over all types it equals the acceptance on the overview,
which counts the result of an edit, as long as these results are in use and nobody has added their
own variants. By type the two differ if an edit changed the type. as_written = accepted / (the same
sum): the share that needed no change.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.reviewers import same_person
from db.columns import Columns, limited_to
from db.models import Anchor, Decision, Reviewer, ReviewerKind, Status, Variant, Verdict


class Dimension(StrEnum):
    """What variants are grouped by.

    ``origin`` is what wrote them (provider, model, run). ``prompt`` is the version of the prompt,
    by type and model, for variants that have one.
    """

    TYPE = "type"
    CUE = "cue"
    GENRE = "genre"
    ORIGIN = "origin"
    PROMPT = "prompt"


OUTCOMES = {
    Status.ACCEPTED: "accepted",
    Status.SUPERSEDED: "edited",
    Status.REJECTED: "rejected",
    Status.CONFLICT: "conflict",
    Status.PENDING: "pending",
}
"""Maps a variant's status to its outcome."""

Group = tuple[Any, ...]
"""One value of a dimension, depending on which: (type,), (cue,), (genre,), (provider, model, run or
None) or (type, model or provider, id of the prompt version).
"""


@dataclass
class Outcomes:
    """Counts of a group's variants by outcome."""

    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    conflict: int = 0
    pending: int = 0

    @property
    def decided(self) -> int:
        """All variants except pending ones."""
        return self.accepted + self.edited + self.rejected + self.conflict

    @property
    def acceptance(self) -> float | None:
        """Share of usable variants among the decided, in [0, 1]; None if none is decided."""
        return (self.accepted + self.edited) / self.decided if self.decided else None

    @property
    def as_written(self) -> float | None:
        """Share accepted as written among the decided, in [0, 1]; None if none is decided."""
        return self.accepted / self.decided if self.decided else None


class ReasonCount(NamedTuple):
    """How many rejected variants of a group have this reason."""

    group: Group
    reason: str
    number: int


def outcomes(
    session: Session,
    dimension: Dimension,
    *,
    types: tuple[str, ...] = (),
    source_id: int | None = None,
) -> dict[Group, Outcomes]:
    """Count the outcomes of each group of variants.

    Args:
        types: only variants of these types; empty means all types.
        source_id: only variants of this source's anchors; None means all sources.
    """
    columns = _columns(dimension)
    # Grouping by status as well would make SQLite sort longer keys.
    counts = [
        func.count().filter(col(Variant.status) == status).label(outcome)
        for status, outcome in OUTCOMES.items()
    ]
    query = _as_written(select(*columns, *counts), dimension, types, source_id)
    return {
        tuple(row[: len(columns)]): Outcomes(
            **{name: row._mapping[name] for name in OUTCOMES.values()}
        )
        for row in session.execute(query.group_by(*columns))
    }


def reject_reasons(
    session: Session,
    dimension: Dimension,
    *,
    types: tuple[str, ...] = (),
    source_id: int | None = None,
) -> list[ReasonCount]:
    """Count the reject reasons of each group.

    A variant with status *rejected* counts once for each reason in its valid verdicts. A verdict is
    valid if it has not been retracted, is its reviewer's latest, was made since the anchor's last
    correction, and comes from a person or a model whose verdicts count. Two reviewers with
    different reasons make a variant count under both.
    """
    columns = _columns(dimension)
    counted = select(*columns, col(Decision.reason), func.count(col(Variant.id).distinct()))
    query = (
        _as_written(counted, dimension, types, source_id)
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(col(Variant.status) == Status.REJECTED, _standing_reject())
        .group_by(*columns, col(Decision.reason))
    )
    return [
        ReasonCount(tuple(group), reason, number)
        for *group, reason, number in session.execute(query)
    ]


def _standing_reject() -> ColumnElement[bool]:
    retract, later, its_retract = aliased(Decision), aliased(Decision), aliased(Decision)
    retracted = col(retract.retracts_id) == col(Decision.id)
    taken_back = select(col(retract.id)).where(retracted).exists()
    later_taken_back = (
        select(col(its_retract.id)).where(col(its_retract.retracts_id) == col(later.id)).exists()
    )
    outdated = (
        select(col(later.id))
        .where(
            col(later.variant_id) == col(Decision.variant_id),
            col(later.reviewer_id).in_(same_person()),
            col(later.id) > col(Decision.id),
            col(later.verdict) != Verdict.RETRACT,
            ~later_taken_back,
        )
        .exists()
    )
    return and_(
        col(Decision.verdict) == Verdict.REJECT,
        col(Decision.variant_version) >= col(Variant.since_version),
        or_(col(Reviewer.kind) == ReviewerKind.PERSON, col(Reviewer.counts).is_(True)),
        ~taken_back,
        ~outdated,
    )


def _columns(dimension: Dimension) -> tuple[Any, ...]:
    return {
        Dimension.TYPE: (col(Variant.type_id),),
        Dimension.CUE: (col(Variant.cue),),
        Dimension.GENRE: (col(Anchor.genre),),
        Dimension.ORIGIN: (col(Variant.provider), col(Variant.model), col(Variant.run_id)),
        Dimension.PROMPT: (
            col(Variant.type_id),
            func.coalesce(func.nullif(col(Variant.model), ""), col(Variant.provider)),
            col(Variant.prompt_version_id),
        ),
    }[dimension]


def _as_written(
    query: Select[*Columns],
    dimension: Dimension,
    types: tuple[str, ...],
    source_id: int | None,
) -> Select[*Columns]:
    query = query.select_from(Variant).where(
        col(Variant.retired).is_(False),
        col(Variant.parent_id).is_(None),
        col(Variant.author_id).is_(None),  # a reviewer's own text is accepted from the start
        limited_to(col(Variant.type_id), types or None),
        limited_to(col(Variant.source_id), source_id),
    )
    if dimension is Dimension.CUE:
        return query.where(col(Variant.cue).is_not(None), col(Variant.cue) != "")
    if dimension is Dimension.PROMPT:
        return query.where(col(Variant.prompt_version_id).is_not(None))
    if dimension is Dimension.GENRE:
        return query.join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
    return query
