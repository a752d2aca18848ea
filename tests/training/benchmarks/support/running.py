"""Small benchmark files in a project, runs over them, and stored results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.execution import RunContext, execute
from db.models import BenchmarkResult, Run, RunState
from db.runs import create_run
from db.settings import Settings
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows
from training.benchmarks.results.queries import Scored, newest
from training.benchmarks.runs.lifecycle import work
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.request import KIND, BenchmarkRequest, request_benchmarks
from training.benchmarks.sources import DataChoice, keep_data


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def semantoneg(settings: Settings, name: str = "sample.jsonl") -> DataChoice:
    content = lines(semantoneg_rows())
    return keep_data(settings.data_folder, "semantoneg", {name: content}).choice


def nevir(settings: Settings) -> DataChoice:
    return keep_data(settings.data_folder, "nevir", {"nevir.jsonl": lines(NEVIR)}).choice


def requested(engine: Engine, settings: Settings, *models: ModelChoice, **more: Any) -> Run:
    with writing(engine) as session:
        request = BenchmarkRequest(models=models, **more)
        return request_benchmarks(session, settings, request, requested_by=None)


def carried_out(
    engine: Engine, settings: Settings, run: Run, do: Callable[[Any], dict[str, Any]] = work
) -> dict[str, Any]:
    return execute(engine, settings, run.id, {KIND: do})


def ran(engine: Engine, settings: Settings, *models: ModelChoice, **more: Any) -> dict[str, Any]:
    return carried_out(engine, settings, requested(engine, settings, *models, **more))


def results(engine: Engine) -> dict[tuple[str, str], Scored]:
    """The newest results by the names of the model and the benchmark."""
    with reading(engine) as session:
        return {(row.model, row.benchmark): row for row in newest(session)}


def stopping(after: str) -> Callable[[RunContext], dict[str, Any]]:
    """The work of a run that is cancelled, as by a page, after this message."""

    def stopped(context: RunContext) -> dict[str, Any]:
        def listen(step: int, total: int, message: str) -> None:
            if after in message:
                context.interrupt(RunState.CANCELLED)

        context.listener = listen
        return work(context)

    return stopped


def add(session: Session, **more: Any) -> BenchmarkResult:
    """A stored result. By default, it is that of a bi-encoder on some items of NevIR."""
    run_id = more.pop("run_id", None) or create_run(session, kind=KIND, parameters={}).id
    values: dict[str, Any] = {
        "run_id": run_id,
        "kind": "negation",
        "benchmark": "nevir",
        "model": "a",
        "architecture": "bi-encoder",
        "data": "test.jsonl",
        "data_hash": "d" * 64,
        "metric": "pairwise accuracy",
        "score": 20.0,
        "n": 10,
    }
    row = BenchmarkResult(**values | more)
    session.add(row)
    session.flush()
    return row


def add_task(session: Session, model: str, task: str, type_: str, score: float) -> None:
    """A stored result of a task of MTEB."""
    more = {"metric": "cosine_spearman", "n": 0, "data_hash": "revision", "score": score}
    add(session, kind="general", benchmark=task, model=model, summary={"type": type_}, **more)
