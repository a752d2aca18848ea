"""Small benchmark files in a project, and runs over them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

from db.engine import writing
from db.execution import execute
from db.models import Run
from db.settings import Settings
from tests.training.benchmarks.support.samples import NEVIR, semantoneg_rows
from training.benchmarks.data.sources import DataChoice, keep_data
from training.benchmarks.runs.lifecycle import work
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.request import KIND, BenchmarkRequest, request_benchmarks


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
