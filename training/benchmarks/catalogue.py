"""All benchmarks, in display order."""

from typing import Any

from curation.plug_ins import PlugInGroup, PlugIns
from db.errors import HedgerowError
from training.benchmarks.definition import Benchmark
from training.benchmarks.tasks.common_forms import Cannot, M3Counterfactual
from training.benchmarks.tasks.excluir import ExcluIR
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
"""The benchmarks that come with Hedgerow."""

PLUG_INS: PlugInGroup[Benchmark[Any]] = PlugInGroup(
    "hedgerow.benchmarks",
    Benchmark,  # type: ignore[type-abstract]
    noun="benchmark",
    reserved=tuple(entry.id for entry in BENCHMARKS),
    called="id",
    attributes={
        **dict.fromkeys(("title", "measures", "paper", "metric", "kind", "asks", "expects"), str),
        "outcomes": tuple,
        "chance": (int, float),
    },
    methods=(
        *("read", "asked", "judged", "aside", "figures", "questions", "asides", "samples"),
        *("sides", "texts", "evaluate", "data_hash"),
    ),
)

NEGATION_AVERAGE = (NevIR.id, ExcluIR.id, Cannot.id, M3Counterfactual.id)
"""The benchmarks whose mean is the negation average in HedgeTriple's tables."""


def benchmark_names() -> tuple[str, ...]:
    """The ids of all benchmarks, including plug-ins, which are not imported."""
    return (*(entry.id for entry in BENCHMARKS), *PLUG_INS.names())


def installed_plug_ins() -> PlugIns[Benchmark[Any]]:
    """The benchmarks of other packages, after importing them."""
    return PLUG_INS.load_all()


def all_benchmarks() -> tuple[type[Benchmark[Any]], ...]:
    """All benchmarks except plug-ins that can't be loaded."""
    return (*BENCHMARKS, *installed_plug_ins().classes.values())


def benchmark(name: str) -> type[Benchmark[Any]]:
    """The benchmark of this id.

    Raises:
        HedgerowError: there is none, or it is a plug-in that can't be loaded.
    """
    for entry in BENCHMARKS:
        if entry.id == name:
            return entry
    if name in PLUG_INS.names():
        return PLUG_INS.load(name)
    known = ", ".join(benchmark_names())
    raise HedgerowError(f"Expected a benchmark ({known}), found {name[:60]!r}.")
