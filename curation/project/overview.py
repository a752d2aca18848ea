"""What the Overview shows, read at one moment."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.project.funnel import Funnel, funnel, surplus_version
from curation.project.next_steps import NextStep, next_steps
from curation.release.contents import CountsByType
from db.models import Run
from db.runs import UNFINISHED, list_runs


class Progress(NamedTuple):
    """How far the project has come, read at one moment; the newest runs first."""

    runs: list[Run]
    funnel: Funnel
    steps: list[NextStep]


def progress(
    session: Session, *, looked_at: int, known: Callable[[tuple[Any, ...]], CountsByType]
) -> Progress:
    """The last runs, the funnel, and what to do next.

    Args:
        looked_at: the number of runs.
        known: gives the ``surplus`` of a ``surplus_version``, which may have been kept.
    """
    runs = list_runs(session, limit=looked_at)
    current = funnel(session, known=known(surplus_version(session)))
    busy = {run.kind for run in runs if run.state in UNFINISHED}
    return Progress(runs, current, next_steps(session, current, busy=busy))
