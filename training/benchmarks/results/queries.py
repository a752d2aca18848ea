"""Queries for stored benchmark results, for the page and the command line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.formatting import counted
from curation.generation.run_report import in_words, listed
from db.errors import HedgerowError
from db.models import BenchmarkResult, Encoder
from training.benchmarks.definition import POINTS, Result
from training.benchmarks.results.saved import read_result
from training.benchmarks.results.statistics import (
    Interval,
    PairedTest,
    compare,
    interval_of_extreme,
)
from training.benchmarks.runs.jobs import GENERAL_ABILITY as GENERAL_ABILITY
from training.benchmarks.runs.jobs import NEGATION as NEGATION
from training.benchmarks.runs.measured_models import model_title
from training.benchmarks.scorers.interface import Prompts
from training.models.display_names import short_names
from training.models.finetuned import finetuned_bases

ModelKey = tuple[str, str, str]
"""A model's name, architecture and scoring: a line of the table."""


@dataclass(frozen=True)
class Scored:
    """One stored result; fields as in `BenchmarkResult`.

    Attributes:
        model: the model's full name.
        file: relative to the data folder; '' for mteb's tasks.
        short: the model's short name, unique among the models that have results.
    """

    id: int
    run_id: int
    kind: str
    benchmark: str
    model: str
    model_hash: str
    architecture: str
    scoring: str
    data: str
    data_hash: str
    metric: str
    score: float
    n: int
    ties: int
    unanswered: int
    summary: Mapping[str, Any]
    file: str
    created_at: datetime
    short: str

    @property
    def title(self) -> str:
        """The model, for people: unique among the models of the project."""
        return model_title(
            self.short, self.architecture, self.scoring, self.prompts, self.summary.get("edited")
        )

    @property
    def full_title(self) -> str:
        """The same with the model's full name."""
        return model_title(
            self.model, self.architecture, self.scoring, self.prompts, self.summary.get("edited")
        )

    @property
    def asked(self) -> Mapping[str, Any]:
        """How a language model was prompted, as in `Prompted.report`; empty for other models."""
        return self.summary.get("asked") or {}

    @property
    def unanswered_share(self) -> float:
        """The share of items without an answer, in points."""
        return POINTS * self.unanswered / self.n if self.n else 0.0

    @property
    def prompts(self) -> Prompts:
        """The prompts that replaced the model's own."""
        return Prompts(**self.summary.get("prompts", {}))

    @property
    def model_key(self) -> ModelKey:
        """The key of its line in the table."""
        return self.model, self.architecture, self.scoring

    @property
    def column(self) -> str:
        """The key of its column in the table: the same benchmark on the same items."""
        return f"{self.benchmark}/{self.data_hash[:12]}"

    @property
    def interval(self) -> Interval | None:
        """The stored bootstrap interval; None for mteb tasks."""
        stored = self.summary.get("interval")
        if not stored:
            return None
        found = Interval(**stored)
        if found.low == found.high and self.score in (0.0, POINTS):  # as it was computed first
            return interval_of_extreme(self.score, found.units)
        return found

    @property
    def release(self) -> int | None:
        """The number of the release that a Hedgerow result's items are from."""
        number = self.summary.get("origin", {}).get("release")
        return int(number) if number is not None else None


_FIELDS = tuple(name for name in Scored.__dataclass_fields__ if name != "short")


def newest(session: Session, *, kind: str = "", benchmark: str = "") -> list[Scored]:
    """The newest result of each model, architecture, scoring, benchmark and data, the newest first.

    Args:
        kind: `NEGATION` or `GENERAL_ABILITY`, to select only these.
        benchmark: the id of a benchmark, to select only this one.
    """
    newest_id = func.max(col(BenchmarkResult.id))
    ids = select(newest_id).group_by(
        col(BenchmarkResult.model),
        col(BenchmarkResult.architecture),
        col(BenchmarkResult.scoring),
        col(BenchmarkResult.benchmark),
        col(BenchmarkResult.data_hash),
    )
    if kind:
        ids = ids.where(col(BenchmarkResult.kind) == kind)
    if benchmark:
        ids = ids.where(col(BenchmarkResult.benchmark) == benchmark)
    return _scored(session, col(BenchmarkResult.id).in_(ids))


def of_run(session: Session, run_id: int) -> list[Scored]:
    """The results of a run, the newest first."""
    return _scored(session, col(BenchmarkResult.run_id) == run_id)


def _scored(session: Session, condition: Any) -> list[Scored]:
    query = select(BenchmarkResult).where(condition).order_by(col(BenchmarkResult.id).desc())
    rows = session.execute(query).scalars()
    short = short_names(session.execute(select(col(BenchmarkResult.model)).distinct()).scalars())
    return [
        Scored(**{field: getattr(row, field) for field in _FIELDS}, short=short[row.model])
        for row in rows
    ]


def bases(session: Session, data_folder: Path, rows: Iterable[Scored]) -> dict[ModelKey, ModelKey]:
    """For each model that a run trained, the measured model that it was trained from.

    A base is identified by the fingerprint of its files, whatever its name. Both models must have
    been scored in the same way.
    """
    rows = list(rows)
    base = aliased(Encoder)
    hashes = {row.model_hash for row in rows if row.model_hash}
    query = (
        select(col(Encoder.fingerprint), col(base.fingerprint))
        .join(base, col(base.id) == col(Encoder.base_id))
        .where(col(Encoder.fingerprint).in_(hashes))
    )
    encoders = {row[0]: row[1] for row in session.execute(query)}
    language = finetuned_bases(session, data_folder)
    measured = {(row.model_hash, *row.model_key[1:]): row.model_key for row in reversed(rows)}
    found = {}
    for row in rows:
        base_hash = encoders.get(row.model_hash) or language.get(row.model, "?")
        key = measured.get((base_hash, *row.model_key[1:]))
        if key and key != row.model_key:
            found[row.model_key] = key
    return found


class NewestScores(NamedTuple):
    """The newest results, and the models that they were trained from, as in `bases`."""

    rows: list[Scored]
    trained_from: dict[ModelKey, ModelKey]


def newest_scores(session: Session, data_folder: Path) -> NewestScores:
    """The newest results, and the models that they are compared with."""
    rows = newest(session)
    return NewestScores(rows, bases(session, data_folder, rows))


def full_result(data_folder: Path, scored: Scored) -> Result:
    """A stored result with its items; cached in memory.

    Raises:
        HedgerowError: it is an mteb task, or its file is missing or damaged.
    """
    if not scored.file:
        raise HedgerowError(
            f"The items of {scored.benchmark[:120]} are not stored; mteb tasks have only scores."
        )
    return _read(data_folder / scored.file)


@lru_cache(maxsize=24)
def _read(path: Path) -> Result:
    return read_result(path)


class Paired(NamedTuple):
    """Two results and the test of their difference."""

    first: Scored
    second: Scored
    comparison: PairedTest


def paired(data_folder: Path, first: Scored, second: Scored) -> Paired:
    """A paired test of two models on the same items; cached in memory.

    Raises:
        HedgerowError: as `full_result`, or the data differs.
    """
    if first.column != second.column:
        raise HedgerowError(
            "Expected two results on the same items, found different data; choose two models "
            "that were measured on the same data."
        )
    full_result(data_folder, first)
    full_result(data_folder, second)
    found = _compared(data_folder / first.file, data_folder / second.file)
    return Paired(first, second, found)


@lru_cache(maxsize=256)
def _compared(first: Path, second: Path) -> PairedTest:
    return compare(_read(first), _read(second))


def by_column(rows: Sequence[Scored], column: str) -> dict[ModelKey, Scored]:
    """The results in a column, by model."""
    return {row.model_key: row for row in rows if row.column == column}


# -- prompting text -------------------------------------------------------------------------------
#
# Sentences about the prompt, the position bias and the missing answers of language models.


def unanswered_description(row: Scored) -> str:
    """The number of items without a usable answer; '' if all have one."""
    if not row.unanswered:
        return ""
    items = f"{row.unanswered:,} of {counted(row.n, 'item')} ({row.unanswered_share:.1f}%)"
    return f"It gave no usable answer to {items}. These do not count as correct."


def prompting_description(asked: Mapping[str, Any]) -> str:
    """The prompt and its version, the position bias of choices, and what was wrong with answers.

    '' for other models.
    """
    if not asked:
        return ""
    name = str(asked["prompt"]).replace("_", " ")
    version = f", version {asked['version']}" if asked["version"] else ""
    text = f"Prompt: {name}{version}"
    first, changed = asked.get("first_share"), asked.get("changed_share")
    if first is not None and changed is not None:
        text += (
            f", in {asked['orders']} orders: {first:.1f}% of the answers are 1 "
            f"({POINTS / asked['orders']:.0f}% means no position bias), and {changed:.1f}% of the "
            "choices change with the order"
        )
    problems = listed(asked.get("problems", {}))
    why = f"Prompts without a usable answer: {problems}." if problems else ""
    return " ".join(filter(None, [f"{text}.", why, in_words(asked.get("removed", {}))]))
