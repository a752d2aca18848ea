"""What a project needs next, by how far it has come."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.project.funnel import Funnel
from curation.release.contents import changes_since, contents_of
from db.models import (
    Anchor,
    Split,
    Variant,
)


class StepKind(StrEnum):
    """Something to do, in the order of the data's way."""

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
    """One thing to do next.

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


def _without_variants(session: Session) -> int:
    """Anchors in use that nothing was written for yet."""
    its = select(col(Variant.id)).where(col(Variant.anchor_id) == col(Anchor.id))
    query = (
        select(func.count())
        .select_from(Anchor)
        .where(col(Anchor.retired_at).is_(None), ~its.exists())
    )
    return session.execute(query).scalar_one()


def next_steps(
    session: Session, state: Funnel, *, busy: Collection[StepKind] = ()
) -> list[NextStep]:
    """What to do next, in the order of the data's way.

    Args:
        state: what ``funnel`` gave in the same session.
        busy: steps that a run is at; they are not proposed again.
    """
    total, newest = state.total, state.newest
    if not total.anchors and not total.variants:
        return [NextStep(StepKind.LOAD)]
    steps = []
    if StepKind.WRITE not in busy and (bare := _without_variants(session)):
        steps.append(NextStep(StepKind.WRITE, bare))
    if total.diagnosed < total.variants and StepKind.MEASURE not in busy:
        steps.append(NextStep(StepKind.MEASURE, total.variants - total.diagnosed))
    if total.conflict:
        steps.append(NextStep(StepKind.SETTLE, total.conflict))
    steps += [
        NextStep(StepKind.REVIEW, row.pending, row.type_id) for row in state.rows if row.pending
    ]
    if newest is None:
        if total.accepted:
            steps.append(NextStep(StepKind.RELEASE, total.accepted))
        return steps
    changes = changes_since(session, newest)
    added, gone = sum(changes.added.values()), sum(changes.gone.values())
    if (added or gone) and total.accepted:
        steps.append(NextStep(StepKind.RELEASE, added, gone=gone, release=newest.number))
    to_learn = contents_of(newest).triples_by_split.get(Split.TRAIN, 0)
    if to_learn and state.trained_release != newest.number and StepKind.TRAIN not in busy:
        steps.append(NextStep(StepKind.TRAIN, to_learn, release=newest.number))
    return [*steps, NextStep(StepKind.EXPORT, newest.summary["variants"], release=newest.number)]
