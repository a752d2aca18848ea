"""The mteb tasks that are offered, and a check of other names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from db.errors import HedgerowError
from training.benchmarks.tasks.general import SUITES, single_task

KNOWN_TASKS = tuple(sorted({task for suite in SUITES.values() for task in suite}))
"""Single tasks of the suites, by name."""


def require_tasks(names: Sequence[str]) -> None:
    """Check that these tasks exist. mteb is only loaded for names outside `KNOWN_TASKS`.

    Raises:
        HedgerowError: as in `tasks`, or a name is empty.
    """
    for name in names:
        if name not in KNOWN_TASKS:
            _require_task(name)


@lru_cache(maxsize=64)
def _require_task(name: str) -> None:
    if not name.strip():
        raise HedgerowError("Expected the name of an mteb task, found an empty one; remove it.")
    single_task(name)


def names_of(suites: Sequence[str], tasks: Sequence[str]) -> list[str]:
    """The tasks of these suites and these single tasks, without duplicates."""
    return list(dict.fromkeys([*(name for suite in suites for name in SUITES[suite]), *tasks]))
