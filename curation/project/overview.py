"""The data of the Overview, read in one transaction."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.project.funnel import Funnel, funnel, surplus_version
from curation.project.next_steps import NextStep, StepKind, next_steps
from curation.release.contents import CountsByType
from db.models import Run
from db.runs import UNFINISHED, list_runs


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
