"""The speed of earlier benchmark runs on this machine, for time estimates."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import BenchmarkResult, Run
from training.benchmarks.data.sizes import Size
from training.benchmarks.runs.measured_models import CHAT
from training.benchmarks.scorers.embedding_models import Cross
from training.benchmarks.scorers.monot5 import MonoT5
from training.benchmarks.scorers.prompted.causal import Causal
from training.models.size import BUILT_IN_WEIGHT

LETTERS_PER_SECOND = 20_000.0
"""Characters per second that the built-in encoder reads on two CPU cores. On one core, it read
10,700 to 13,200 per second of processor time, with texts of 50, 126, 305, 714 and 1,030
characters."""

TELLING = 2.0
"""Seconds. A shorter measurement says nothing about the pace."""

INSPECTED = 50
"""Number of newest results that the pace is estimated from."""


READ_PAIRS = (Cross.architecture, MonoT5.architecture)
"""Architectures that read both texts of a pair together."""


class RunPace(NamedTuple):
    """The time that an earlier result took.

    Attributes:
        units: as counted by `units`; for a chat model, the number of prompts.
        weight: the result of `weight_of`; 0 if unknown.
        tokens_out: the tokens of a chat model's answers, as reported by its server.
    """

    model: str
    architecture: str
    units: float
    seconds: float
    weight: float
    tokens_out: float = 0.0

    @property
    def per_second(self) -> float:
        """Units per second."""
        return self.units / self.seconds


def units(size: Size, architecture: str) -> float:
    """The work that a model's time is proportional to: characters or prompts."""
    if architecture == CHAT:
        return size.prompts
    if architecture == Causal.architecture:
        return size.prompt_letters
    return size.pair_letters if architecture in READ_PAIRS else size.letters


def took(
    units: float, seconds: float, *, weight: float = 0.0, tokens_out: float = 0.0
) -> dict[str, float]:
    """The values in the summary of a result that `paces` reads."""
    return {
        "units": units,
        "seconds": round(seconds, 3),
        "weight": weight,
        "tokens_out": tokens_out,
    }


def paces(session: Session) -> list[RunPace]:
    """The time that results took on this machine, newest first."""
    result = BenchmarkResult
    query = (
        select(col(result.model), col(result.architecture), col(result.summary))
        .join(Run, col(Run.id) == col(result.run_id))
        .where(col(Run.host) == socket.gethostname(), col(result.file) != "")
        .order_by(col(result.id).desc())
        .limit(INSPECTED)
    )
    found = [
        RunPace(model, architecture, **summary["took"])
        for model, architecture, summary in session.execute(query)
        if "took" in summary
    ]
    return [pace for pace in found if pace.units and pace.seconds >= TELLING]


def pace_of(
    earlier: Sequence[RunPace], name: str, architecture: str, weight: float
) -> float | None:
    """Units per second, from this model's newest result, or from other models' results and the
    ratio of the weights. None if there is nothing to estimate from.
    """
    alike = [pace for pace in earlier if pace.architecture == architecture]
    for pace in alike:
        if pace.model == name:
            return pace.per_second
    if not weight:
        return None
    for pace in alike:
        if pace.weight:
            return pace.per_second * pace.weight / weight
    return LETTERS_PER_SECOND * BUILT_IN_WEIGHT / weight
