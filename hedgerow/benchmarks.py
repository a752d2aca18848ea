"""Evaluating models on benchmarks, and on tasks of mteb and lm_eval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.engine import reading
from db.errors import HedgerowError
from db.models import Split
from db.named_files import expanded
from db.settings import Settings
from hedgerow.home import Home, acting
from hedgerow.running import carry_out
from training.benchmarks.catalogue import benchmark
from training.benchmarks.harness_names import KNOWN, LM_EVAL, tasks_of
from training.benchmarks.results.queries import Scored, of_run
from training.benchmarks.results.saved import read_result
from training.benchmarks.runs.measured_models import ModelChoice, chosen_model
from training.benchmarks.runs.request import BENCHMARK, BenchmarkRequest
from training.benchmarks.scorers.prompted.wording import chosen_versions
from training.benchmarks.sources import (
    DataChoice,
    KeptData,
    data_for_now,
    keep_file_here,
    kept_data,
)
from training.benchmarks.tasks.general import SUITES
from training.benchmarks.tasks.own_families import Hedgerow

if TYPE_CHECKING:
    import pandas as pd

MTEB = "mteb:"
"""The prefix of a suite of mteb tasks, or of a single task."""


@dataclass(frozen=True)
class Score:
    """The result of a benchmark.

    Attributes:
        benchmark, metric: the names of the benchmark and of its metric.
        model: the name of the model in results.
        score: the score in points, as in papers: a share from 0 to 100, or a correlation from -100
            to 100.
        n: the number of items.
        interval: the 95% interval of the score, or None if it has none.
        run: the number of the run.
        figures: further figures of the benchmark.
        unanswered: the number of items without a usable answer.
        asked: for a language model, the prompt and its version, and how much the model's choices
            depend on the order of the texts; empty for other models.
    """

    benchmark: str
    metric: str
    model: str
    score: float
    n: int
    interval: tuple[float, float] | None
    run: int
    figures: Mapping[str, Any]
    unanswered: int = 0
    asked: Mapping[str, Any] = field(default_factory=dict)
    _file: Path | None = field(default=None, repr=False)

    def items(self) -> pd.DataFrame:
        """Every item with its texts, scores and outcome; empty for mteb tasks.

        Raises:
            HedgerowError: the file with the items is missing.
        """
        import pandas as pd

        if self._file is None:
            return pd.DataFrame()
        rows = [
            {**row.texts, "key": row.key, "outcome": row.outcome, "scores": list(row.scores)}
            for row in read_result(self._file).rows
        ]
        return pd.DataFrame(rows)


def score_of(row: Scored, data_folder: Path) -> Score:
    """A stored result as a Python object."""
    interval = row.interval
    return Score(
        benchmark=row.benchmark,
        metric=row.metric,
        model=row.model,
        score=row.score,
        n=row.n,
        interval=(interval.low, interval.high) if interval else None,
        run=row.run_id,
        figures=row.summary.get("figures", {}),
        unanswered=row.unanswered,
        asked=row.asked,
        _file=data_folder / row.file if row.file else None,
    )


def measure(
    home: Home,
    name: str,
    model: str,
    *,
    data: Path | None,
    release: int | None,
    split: Split,
    options: Mapping[str, Any],
    prompts: Mapping[str, int] | None = None,
) -> list[Score]:
    """Evaluate a model. A suite of mteb tasks has one score per task, in the order of the suite.

    Args:
        options: the options of the model, fields of `ModelChoice`.
        prompts: name of a prompt for language models → its version; by default the newest version.
    """
    choice = chosen_model({"name": model, **options})
    versions = chosen_versions(prompts or {})
    with named_data(home.settings, name, data) as kept:
        request = request_for(
            home.settings, name, (choice,), kept, release, split, folder=tasks_folder(name, data)
        )
        request = request.model_copy(update={"asked_with": versions})
    run = BENCHMARK.perform(acting(home), request)
    carry_out(home.settings, home.engine, run.id)
    with reading(home.engine) as session:
        rows = of_run(session, run.id)
    return [score_of(row, home.settings.data_folder) for row in reversed(rows)]


@contextmanager
def named_data(
    settings: Settings, name: str, data: Path | None, *, dry_run: bool = False
) -> Iterator[KeptData | None]:
    """Store the given file in the project; for a dry run, only temporarily."""
    if data is None or name.startswith(LM_EVAL):
        yield None
    elif name.startswith(MTEB):
        raise HedgerowError(
            "Expected no data for mteb tasks, found a file; they use their own data."
        )
    elif dry_run:
        with data_for_now(settings.data_folder, name, data) as kept:
            yield kept
    else:
        yield keep_file_here(settings.data_folder, name, data)


def tasks_folder(name: str, data: Path | None) -> str:
    """The folder with the user's own lm_eval tasks, as a full path; '' for none.

    Raises:
        HedgerowError: a folder is given with one of lm_eval's own tasks.
    """
    if data is None or not name.startswith(LM_EVAL):
        return ""
    for task in tasks_of(name.removeprefix(LM_EVAL)):
        if task in KNOWN:
            raise HedgerowError(
                f"Expected no data for {KNOWN[task].title}, which uses its own, found a folder; "
                "remove it, or rename your task."
            )
    return str(expanded(data).absolute())


def request_for(
    settings: Settings,
    name: str,
    models: tuple[ModelChoice, ...],
    kept: KeptData | None,
    release: int | None,
    split: Split,
    *,
    folder: str = "",
) -> BenchmarkRequest:
    """A request for the benchmark, or for the suite or task of mteb or lm_eval, with this name.

    Args:
        folder: the result of `tasks_folder`.
    """
    if name.startswith(LM_EVAL):
        tasks = tasks_of(name.removeprefix(LM_EVAL))
        return BenchmarkRequest(models=models, language_tasks=tasks, tasks_folder=folder)
    if not name.startswith(MTEB):
        chosen = data_of(settings, name, kept, release, split)
        return BenchmarkRequest(models=models, benchmarks=(chosen,))
    wanted = name.removeprefix(MTEB)
    if wanted in SUITES:
        return BenchmarkRequest(models=models, suites=(wanted,))
    return BenchmarkRequest(models=models, tasks=(wanted,))


def data_of(
    settings: Settings,
    name: str,
    named: KeptData | None = None,
    release: int | None = None,
    split: Split = Split.TEST,
) -> DataChoice:
    """The data of a benchmark: the given file, else the latest file, else data without a file."""
    kind = benchmark(name)
    if named is not None:
        return named.choice
    if kind is Hedgerow:
        return DataChoice(benchmark=name, release=release, split=split)
    kept = [] if kind.hub else kept_data(settings.data_folder, name)
    return kept[0].choice if kept else DataChoice(benchmark=name)
