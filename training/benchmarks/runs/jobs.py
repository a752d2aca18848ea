"""The jobs of a benchmark run: one model with one benchmark or one mteb task."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from curation.generation.prompts import MeasuringName
from curation.generation.request import Price
from db.execution import RunContext
from db.models import BenchmarkResult
from training.benchmarks import harness_tasks
from training.benchmarks.definition import Benchmark, Result
from training.benchmarks.harness_tasks import LoadedTask
from training.benchmarks.results.saved import write_result
from training.benchmarks.results.statistics import interval
from training.benchmarks.runs.measured_models import (
    FoundModel,
    inner_model,
    language_model,
    may_do_general,
    may_do_language,
)
from training.benchmarks.runs.paces import size_of, took, units
from training.benchmarks.scorers.embedding_models import Cross
from training.benchmarks.scorers.interface import OWN_PROMPTS, Scorer, measure
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.wording import prompt_for
from training.benchmarks.sources import OpenData
from training.benchmarks.tasks import general
from training.benchmarks.tasks.general import SUITES, names_of
from training.models.known import weight_of

NEGATION, GENERAL_ABILITY = "negation", "general"
"""Kinds of results."""

MTEB_FOLDER = "mteb"
"""The subfolder of the data folder with mteb's result files."""

TASK_ITEMS = 2_000
"""The weight of an mteb task in the progress, in items."""

RERANKING = "Reranking"
"""The kind of mteb tasks that a cross-encoder can do."""


LONGEST_NAME = 150

MOST_PARTS = 60
"""Maximum number of parts of a breakdown in the database. MMLU has 57 subjects, SemAntoNeg a
thousand antonym pairs. The file with the rows has all of them."""


@dataclass(frozen=True)
class Step:
    """Reports the progress of one job as a part of the run's progress."""

    context: RunContext
    before: int
    items: int
    total: int
    name: str

    def __call__(self, done: int, total: int) -> None:
        """Report the progress of the job, and stop if the run was cancelled."""
        step = self.before + (self.items * done // total if total else 0)
        part = f": {done:,} of {total:,}." if total > 1 else "."
        self.context.update(step, self.total, f"{self.name}{part}")


class Job(NamedTuple):
    """One thing to measure with a model.

    Attributes:
        items: the number of items, for the progress.
        data_hash: the hash of the data.
        suits: whether a model can do the job.
        general: whether it is an mteb task.
        prompt: the name of the prompt for language models; None if the job uses none.
        require_data: raises HedgerowError if the data can't be loaded; called before the model is
            loaded.
    """

    benchmark: str
    title: str
    items: int
    data_hash: str
    run: Callable[[Scorer, FoundModel, Step], BenchmarkResult]
    suits: Callable[[FoundModel], bool] = lambda found: True
    general: bool = False
    prompt: MeasuringName | None = None
    require_data: Callable[[RunContext, FoundModel], None] = lambda context, found: None


@contextmanager
def stopping(scorer: Scorer, check: Callable[[], None]) -> Iterator[None]:
    """Check for a cancel before every batch, because mteb tasks report no progress."""
    model = getattr(scorer, "model", None)
    parts = list(model.children()) if model is not None and hasattr(model, "children") else []

    def before_a_batch(*_: object) -> None:
        check()

    hooks = [part.register_forward_pre_hook(before_a_batch) for part in parts]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def negation_job(opened: OpenData) -> Job:
    """A job that measures a benchmark and stores its rows."""
    benchmark = opened.benchmark
    data_hash = benchmark.data_hash()

    def run(scorer: Scorer, found: FoundModel, step: Step) -> BenchmarkResult:
        watch = _Watch(scorer, f"{benchmark.id}/{data_hash[:16]}/{digest(found)}")
        with watch:
            result = measure(benchmark, scorer, on_progress=step)
        spent = watch.spent(benchmark, found)
        data = opened.where[:300]
        return _of_items(
            step, found, result, kind=NEGATION, data=data, origin=opened.origin, **spent
        )

    prompt = prompt_for(
        benchmark.questions(), asks=benchmark.asks, paraphrases=benchmark.paraphrases
    )
    return Job(benchmark.id, benchmark.title, len(benchmark.items), data_hash, run, prompt=prompt)


class _Watch:
    """The time of a measurement in progress. A chat model's account keeps it between attempts.

    Attributes:
        seconds: the time so far, including earlier attempts of the run.
    """

    def __init__(self, scorer: Scorer, measures: str) -> None:
        self._account = scorer.account if isinstance(scorer, Chat) else None
        self._scorer = scorer
        if self._account:
            self._account.measures = measures
        self._before = self._usage()

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.seconds = time.monotonic() - self._since
        if kind and self._account:
            self._account.took(self.seconds)

    def _usage(self) -> tuple[int, int]:
        """The number of prompts to a chat model, and the tokens of its answers."""
        if not isinstance(self._scorer, Chat):
            return 0, 0
        return self._scorer.asked, self._account.tokens_out if self._account else 0

    def spent(self, benchmark: Benchmark[Any], found: FoundModel) -> dict[str, Any]:
        """Values for the result's summary: ``seconds`` and ``cost`` of the whole measurement, and
        ``took`` for this attempt."""
        before, cost = 0.0, None
        if self._account:
            before = self._account.seconds.get(self._account.measures, 0.0)
            if self._account.price != Price():
                cost = round(self._account.spent.get(self._account.measures, 0.0), 6)
        return {
            "seconds": round(before + self.seconds, 3),
            "cost": cost,
            "took": self._took(benchmark, found),
        }

    def _took(self, benchmark: Benchmark[Any], found: FoundModel) -> dict[str, float]:
        asked, tokens = (now - then for now, then in zip(self._usage(), self._before, strict=True))
        if isinstance(self._scorer, Chat):
            return took(asked, self.seconds, tokens_out=tokens)
        work = units(size_of(benchmark), found.architecture)
        weight = weight_of(found.folders[0]) if found.folders else 0.0
        return took(work, self.seconds, weight=weight)


def _of_items(
    step: Step, found: FoundModel, result: Result, *, kind: str, data: str, **summary: Any
) -> BenchmarkResult:
    """The row of a result with items, which are written to a file in the run's folder."""
    name = f"{result.benchmark.replace(':', '-')}-{result.data_hash[:16]}-{digest(found)}.jsonl"
    write_result(result, step.context.folder / name)
    if found.choice.prompts != OWN_PROMPTS:
        summary["prompts"] = found.choice.prompts._asdict()
    return _row(
        step,
        found,
        kind=kind,
        benchmark=result.benchmark,
        data=data,
        data_hash=result.data_hash,
        metric=result.metric,
        score=result.score,
        n=result.n,
        ties=result.ties,
        unanswered=result.unanswered,
        summary=kept_parts(result.summary)
        | {"kind": result.kind, "interval": interval(result)._asdict()}
        | summary,
        file=f"{step.context.run.folder}/{name}",
    )


def _row(step: Step, found: FoundModel, **values: Any) -> BenchmarkResult:
    """The row of a result of this model."""
    return BenchmarkResult(
        run_id=step.context.run.id,
        model=found.name,
        model_hash=found.hash,
        architecture=found.architecture,
        scoring=found.scoring,
        **values,
    )


def kept_parts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A result's summary as stored in the database."""
    parts = summary["breakdowns"].items()
    return {**summary, "breakdowns": {name: p for name, p in parts if len(p) <= MOST_PARTS}}


def general_jobs(suites: Sequence[str], tasks: Sequence[str]) -> list[Job]:
    """The mteb tasks of these suites and these single tasks, without duplicates.

    Raises:
        HedgerowError: as in `general.tasks`.
    """
    names = names_of(suites, tasks)
    return [_general_job(task) for task in general.tasks(names)] if names else []


def _general_job(task: Any) -> Job:
    """A job that runs an mteb task and stores the result in mteb's format."""
    facts = general.facts(task)
    suites = [name for name, own in SUITES.items() if facts.name in own]

    def suits(found: FoundModel) -> bool:
        can_rank_only = found.architecture == Cross.architecture
        able = may_do_general(found.architecture, found.choice.prompts)
        return able and (facts.type == RERANKING or not can_rank_only)

    def kept(context: RunContext, found: FoundModel) -> dict[str, Any]:
        """The folder of mteb's results for this model."""
        folder = context.settings.data_folder / MTEB_FOLDER
        return {"name": _mteb_name(found.name), "revision": found.hash, "folder": folder}

    def run(scorer: Scorer, found: FoundModel, step: Step) -> BenchmarkResult:
        (score,) = general.run_tasks(inner_model(scorer), [task], **kept(step.context, found))
        took = {"seconds": score.seconds, "cost": None}
        return _row(
            step,
            found,
            kind=GENERAL_ABILITY,
            benchmark=facts.name,
            data=f"{facts.data}, mteb {facts.version}",
            data_hash=facts.revision,
            metric=facts.metric,
            score=score.score,
            summary=facts._asdict() | {"suites": suites} | took,
        )

    return Job(
        facts.name,
        facts.name,
        TASK_ITEMS,
        facts.revision,
        run,
        suits=suits,
        general=True,
        require_data=lambda context, found: general.require_data(task, **kept(context, found)),
    )


def language_job(task: LoadedTask) -> Job:
    """A job that runs an lm_eval task. Its items are stored like those of a benchmark."""

    def run(scorer: Scorer, found: FoundModel, step: Step) -> BenchmarkResult:
        began = time.monotonic()
        result = harness_tasks.measure(*language_model(scorer), task, on_progress=step)
        took = {"seconds": round(time.monotonic() - began, 3), "cost": None}
        return _of_items(step, found, result, kind=GENERAL_ABILITY, data=task.data, **took)

    def suits(found: FoundModel) -> bool:
        return may_do_language(found.architecture)

    return Job(task.id, task.title, task.items, task.data_hash, run, suits)


def _mteb_name(name: str) -> str:
    """The folder name for a model in mteb's format. The fingerprint distinguishes models."""
    return (Path(name).name if Path(name).is_absolute() else name)[-LONGEST_NAME:]


def digest(found: FoundModel) -> str:
    """A suffix that distinguishes the files of several models in one folder."""
    known_by = "\0".join((found.name, found.architecture, found.scoring))
    return hashlib.sha256(known_by.encode()).hexdigest()[:8]
