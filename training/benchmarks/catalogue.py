"""All benchmarks, in the order in which they are shown."""

from __future__ import annotations

from typing import Any

from db.errors import HedgerowError
from training.benchmarks.definition import Benchmark
from training.benchmarks.tasks.cannot import Cannot
from training.benchmarks.tasks.excluir import ExcluIR
from training.benchmarks.tasks.m3 import M3Counterfactual
from training.benchmarks.tasks.nevir import NevIR
from training.benchmarks.tasks.own_families import Hedgerow
from training.benchmarks.tasks.semantoneg import SemAntoNeg

BENCHMARKS: tuple[type[Benchmark[Any]], ...] = (
    NevIR,
    ExcluIR,
    Cannot,
    M3Counterfactual,
    SemAntoNeg,
    Hedgerow,
)

NEGATION_AVERAGE = (NevIR.id, ExcluIR.id, Cannot.id, M3Counterfactual.id)
"""Whose mean is the negation average of HedgeTriple's tables."""


def benchmark(name: str) -> type[Benchmark[Any]]:
    """The benchmark of this id.

    Raises:
        HedgerowError: there is none.
    """
    for entry in BENCHMARKS:
        if entry.id == name:
            return entry
    known = ", ".join(entry.id for entry in BENCHMARKS)
    raise HedgerowError(f"Expected a benchmark, found {name[:60]!r}; there are {known}.")
