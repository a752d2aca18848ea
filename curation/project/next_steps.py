"""The next steps of a project."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.funnel import Funnel, total_triples
from curation.release.contents import (
    changes_since,
    contents_of,
    count_triples_by_type,
    types_of_source,
)
from curation.review.queue import Queue, count_left
from db.models import Anchor, Release, Source, Split, Variant


class StepKind(StrEnum):
    """Kinds of steps, in the order of the workflow."""

    LOAD = "load"
    WRITE = "write"
    MEASURE = "measure"
    SETTLE = "settle"
    REVIEW = "review"
    RELEASE = "release"
    TRAIN = "train"
    EXPORT = "export"


@dataclass(frozen=True)
class NextStep:
    """One next step.

    Attributes:
        count: anchors without a variant, variants to measure, to settle or to review, newly
            accepted ones, or triples to train on.
        type_id: the type to review; '' for other steps.
        gone: variants of the newest release that are no longer accepted.
        release: number of the newest release, None before the first.
    """

    kind: StepKind
    count: int = 0
    type_id: str = ""
    gone: int = 0
    release: int | None = None


def _without_variants(session: Session, source_id: int | None) -> int:
    """Number of anchors in use without variants."""
    variants = select(col(Variant.id)).where(col(Variant.anchor_id) == col(Anchor.id))
    query = (
        select(func.count())
        .select_from(Anchor)
        .where(col(Anchor.retired_at).is_(None), ~variants.exists())
    )
    if source_id is not None:
        query = query.where(col(Anchor.source_id) == source_id)
    return session.execute(query).scalar_one()


def next_steps(
    session: Session,
    state: Funnel,
    *,
    source_id: int | None = None,
    busy: Collection[StepKind] = (),
) -> list[NextStep]:
    """The next steps, in the order of the workflow.

    Args:
        state: the result of ``funnel`` in the same session, for the same source.
        source_id: only count anchors of this source and their variants; None for all.
        busy: steps that a run is already doing; they are not proposed again.
    """
    total, newest = state.total, state.newest
    if not total.anchors and not total.variants:
        return [NextStep(StepKind.LOAD)]
    steps = []
    if StepKind.WRITE not in busy and (bare := _without_variants(session, source_id)):
        steps.append(NextStep(StepKind.WRITE, bare))
    if total.diagnosed < total.variants and StepKind.MEASURE not in busy:
        steps.append(NextStep(StepKind.MEASURE, total.variants - total.diagnosed))
    if total.conflict and (to_settle := _to_settle(session, source_id)):
        steps.append(NextStep(StepKind.SETTLE, to_settle))
    steps += [
        NextStep(StepKind.REVIEW, row.pending, row.type_id) for row in state.rows if row.pending
    ]
    if newest is None:
        if total.accepted:
            steps.append(NextStep(StepKind.RELEASE, total.accepted))
        return steps
    source = None if source_id is None else session.get_one(Source, source_id).name
    changes = changes_since(session, newest, source)
    added, gone = sum(changes.added.values()), sum(changes.gone.values())
    if (added or gone) and total.accepted:
        steps.append(NextStep(StepKind.RELEASE, added, gone=gone, release=newest.number))
    to_learn = _to_learn(session, newest, source)
    if to_learn and state.trained_release != newest.number and StepKind.TRAIN not in busy:
        steps.append(NextStep(StepKind.TRAIN, to_learn, release=newest.number))
    if released := _released(session, newest, source):
        steps.append(NextStep(StepKind.EXPORT, released, release=newest.number))
    return steps


def _to_settle(session: Session, source_id: int | None) -> int:
    """Number of conflicts that no assigned reviewer still has to decide on."""
    left = count_left(session, Queue.CONFLICT)
    return sum(number for (_, source), number in left.items() if source_id in (None, source))


def _to_learn(session: Session, release: Release, source: str | None) -> int:
    """Number of triples in the release's training split, of one source or of all."""
    if source is None:
        return contents_of(release).triples_by_split.get(Split.TRAIN, 0)
    return total_triples(release, count_triples_by_type(session, release, source, Split.TRAIN))


def _released(session: Session, release: Release, source: str | None) -> int:
    """Number of variants in the release, of one source or of all."""
    if source is None:
        return contents_of(release).variants
    return sum(types_of_source(session, release, source).values())
