"""Counts of the project, its next steps, and the data of the Overview."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.lookup import count_in_use
from curation.encoders.registered import list_encoders
from curation.overview.funnel import Funnel, funnel, surplus_version, total_triples
from curation.project.settings import ACTIVE_ENCODER, get_setting
from curation.release.contents import (
    CountsByType,
    changes_since,
    contents_of,
    count_triples_by_type,
    release_facts,
    types_of_source,
)
from curation.release.freezing import list_releases
from curation.review.queue import Queue, count_left, status_counts
from curation.taxonomy.project_types import list_types
from db.columns import limited_to
from db.failures import shown_address
from db.models import Anchor, Encoder, Release, Run, Source, Split, Status, Variant
from db.runs import UNFINISHED, list_runs, under_way
from db.settings import Settings

# -- Counts of the project for scripts, used by the terminal and over HTTP ------------------------


LAST_RUNS = 5


def project_counts(session: Session, settings: Settings) -> dict[str, Any]:
    """Anchors, variants by type and status, releases, runs and encoders, ready for JSON.

    Returns:
        ``runs`` has the last five runs, ``under_way`` all waiting and running ones. ``variants``
        includes types without variants, and retired types with variants.
    """
    counts = status_counts(session)
    known = [entry.id for entry in list_types(session)]
    active = get_setting(session, ACTIVE_ENCODER)
    return {
        "database": shown_address(session.get_bind().engine.url),
        "anchors": count_in_use(session),
        "variants": {
            name: {state.value: counts.get(name, {}).get(state, 0) for state in Status}
            for name in dict.fromkeys([*known, *sorted(counts)])
        },
        "releases": [release_facts(release) for release in list_releases(session)],
        "runs": [_run(run) for run in list_runs(session, limit=LAST_RUNS)],
        "under_way": [_run(run) for run in under_way(session)],
        "encoders": [
            _encoder(settings, encoder) | {"active": encoder.name == active}
            for encoder in list_encoders(session)
        ],
    }


def _encoder(settings: Settings, encoder: Encoder) -> dict[str, Any]:
    path = str(settings.data_folder / encoder.path) if encoder.path else ""
    return {"name": encoder.name, "path": path}


def _run(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "kind": run.kind,
        "state": run.state.value,
        "step": run.step,
        "total": run.total,
        "message": run.message,
        "created_at": run.created_at.isoformat(),
    }


# -- The next steps of a project ------------------------------------------------------------------


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
        .where(
            col(Anchor.retired_at).is_(None),
            ~variants.exists(),
            limited_to(col(Anchor.source_id), source_id),
        )
    )
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


# -- The data of the Overview, read in one transaction --------------------------------------------


class Progress(NamedTuple):
    """The progress of the project, read in one transaction; the newest runs come first."""

    runs: list[Run]
    funnel: Funnel
    steps: list[NextStep]


def progress(
    session: Session,
    *,
    looked_at: int,
    step_of: Callable[[str], StepKind | None],
    known: Callable[[tuple[Any, ...]], CountsByType],
    source_id: int | None = None,
) -> Progress:
    """The last runs, the funnel and the next steps.

    Args:
        looked_at: the number of runs.
        step_of: returns the step that a kind of run does, if any.
        known: returns the ``surplus`` of a ``surplus_version``, possibly cached.
        source_id: only count anchors of this source and their variants; None for all.
    """
    runs = list_runs(session, limit=looked_at)
    if source_id is None:
        current = funnel(session, known=known(surplus_version(session)))
    else:
        current = funnel(session, source_id=source_id)
    under_way = [run for run in runs if run.state in UNFINISHED]
    busy = {step for run in under_way if (step := step_of(run.kind))}
    steps = next_steps(session, current, source_id=source_id, busy=busy)
    return Progress(runs, current, steps)
