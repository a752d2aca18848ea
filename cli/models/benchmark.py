"""Measuring a model with a benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from cli.models.score_rows import facts, table
from cli.shared.home import asked_by, open_home
from cli.shared.options import CallCap, as_cap, as_option
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, DryRun, show
from curation.generation.costs.prices import price_under, spent_by
from curation.generation.providers.chat.addresses import require_key
from curation.generation.request import Budget
from curation.release.freezing import get_release
from curation.release.overlap_results import told, told_by_field
from curation.validation import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Split
from db.settings import Settings
from training.benchmarks.catalogue import BENCHMARKS, benchmark
from training.benchmarks.contamination import (
    bundled_texts_told,
    compare,
    compare_bundled_texts,
)
from training.benchmarks.data.sources import (
    DataChoice,
    KeptData,
    data_for_now,
    keep_file_here,
    kept_data,
    require_data,
    require_hub,
)
from training.benchmarks.results.queries import Scored, of_run
from training.benchmarks.runs.cost_forecast import plan_benchmarks
from training.benchmarks.runs.lifecycle import BenchmarkRequest, request_benchmarks
from training.benchmarks.runs.measured_models import CHAT, ModelChoice
from training.benchmarks.scorers.architecture import ARCHITECTURES
from training.benchmarks.tasks.general import SUITES, TaskScore, average, by_kind
from training.benchmarks.tasks.general_names import names_of, require_tasks
from training.benchmarks.tasks.own_families import Hedgerow

MTEB = "mteb:"
"""Before a suite of mteb's tasks, or a single one."""


NAMES = f"One of {', '.join(entry.id for entry in BENCHMARKS)}; or {MTEB}SUITE ({', '.join(SUITES)}) or {MTEB}TASK for general ability."  # noqa: E501


def run_benchmark(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAMES)],
    model: Annotated[
        str, typer.Option(metavar="PATH", help="A model's folder or name; a chat model's name.")
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="In the published format; otherwise the one named last, or the model hub's.",
        ),
    ] = None,
    architecture: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(ARCHITECTURES)}; otherwise what the model's files say."
        ),
    ] = "",
    release: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help=f"For '{Hedgerow.id}' and --overlap; otherwise the newest.",
        ),
    ] = None,
    split: Annotated[
        Split, typer.Option(help=f"Of the release, for '{Hedgerow.id}'.")
    ] = Split.TEST,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap", help="Say, too, what the release has in common with the known benchmarks."
        ),
    ] = False,
    base_url: Annotated[str, typer.Option(help="Address of a chat model's server.")] = "",
    max_tokens: Annotated[
        int, typer.Option(help="Of a chat model's answer; thousands if it thinks aloud.")
    ] = 500,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Pause when a chat model has cost so much."),
    ] = None,
    max_calls: CallCap = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model with a benchmark, or with mteb's tasks; 'hedgerow run ID' resumes a run."""
    settings, engine = open_home()
    asked = _model(model, architecture, base_url, max_tokens)
    with reading(engine) as session:
        asked = _priced(session, asked, budget)
    caps = checked(Budget, {"money": budget, "calls": max_calls}, called=as_cap)
    with _named(settings, name, data, dry_run=dry_run) as kept:
        request = _request(settings, name, asked, kept, release, split)
        request = request.model_copy(update={"budget": caps})
        require_tasks(request.tasks)  # may take seconds, in which nobody else could write
        if dry_run:
            _show_plan(settings, engine, request, as_json)
            return
    if asked.architecture == CHAT:
        require_key(asked.base_url, settings)
    if overlap:
        with reading(engine) as session:
            get_release(session, release)  # before a long run rather than after it
    for choice in request.benchmarks:
        require_hub(choice)
    with writing(engine) as session:
        run = request_benchmarks(
            session,
            settings,
            request,
            requested_by=asked_by(session, settings),
        )
    ended = carry_out_run(settings, engine, run.id)
    with reading(engine) as session:
        rows = of_run(session, run.id)
    result = {"run": run.id, "state": ended["state"]}
    result |= _general(name, rows) if name.startswith(MTEB) else facts(rows[0])
    lines = []
    if "cost" in ended:
        result |= {name: ended[name] for name in ("cost", "cost_is_estimate")}
        lines = [f"The answers cost {spent_by(ended)}."]
    if overlap:
        result |= _overlap(settings, engine, release)
        for shared in result["overlap"]:
            lines += filter(None, [told(shared), told_by_field(shared)])
        lines += filter(None, [bundled_texts_told(result["bundled_overlap"])])
    show(result, as_json, table(rows), *_average_line(result), *lines)


def _model(name: str, architecture: str, base_url: str, max_tokens: int) -> ModelChoice:
    values = {
        "name": name,
        "architecture": architecture,
        "base_url": base_url,
        "max_tokens": max_tokens,
    }
    return checked(ModelChoice, values, called=as_option)


def _priced(session: Session, model: ModelChoice, budget: float | None) -> ModelChoice:
    """The model with its price, where one is known."""
    if model.architecture != CHAT:
        if budget is not None:
            raise HedgerowError("Expected --budget with --architecture chat only; leave it out.")
        return model
    return model.model_copy(update={"price": price_under(session, model.name, budget)})


def _show_plan(
    settings: Settings, engine: Engine, request: BenchmarkRequest, as_json: bool
) -> None:
    """What ``--dry-run`` says; what nobody knows is null: of mteb's tasks, all but their names."""
    with reading(engine) as session:
        data = [
            require_data(session, settings.data_folder, choice) for choice in request.benchmarks
        ]
        plan = plan_benchmarks(session, settings, request.models, data)
    (model,) = plan.models
    result: dict[str, Any] = {
        "tasks": names_of(request.suites, request.tasks),
        "items": plan.items or None,
        "questions": plan.questions or None,
        "texts": plan.texts or None,
        "unknown": list(plan.unknown),
        "seconds": model.seconds if plan.items else None,
        "chat": model.chats._asdict() if model.chats and plan.items else None,
    }
    flat = result | (result["chat"] or {})
    rows = [
        (name.replace("_", " "), _in_words(value))
        for name, value in flat.items()
        if name != "chat" and value not in (None, [])
    ]
    show(
        result,
        as_json,
        "Nothing was measured. This is what the run would take.",
        table_of("figure", "value", rows=rows),
    )


def _in_words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


@contextmanager
def _named(
    settings: Settings, name: str, data: Path | None, *, dry_run: bool
) -> Iterator[KeptData | None]:
    """The file that was named, kept with the project; for a dry run only while it lasts."""
    if data is None:
        yield None
    elif name.startswith(MTEB):
        raise HedgerowError("Expected no --data for mteb's tasks, found one; they bring their own.")
    elif dry_run:
        with data_for_now(settings.data_folder, name, data) as kept:
            yield kept
    else:
        yield keep_file_here(settings.data_folder, name, data)


def _request(
    settings: Settings,
    name: str,
    model: ModelChoice,
    kept: KeptData | None,
    release: int | None,
    split: Split,
) -> BenchmarkRequest:
    if not name.startswith(MTEB):
        chosen = _data(settings, name, kept, release, split)
        return BenchmarkRequest(models=(model,), benchmarks=(chosen,))
    wanted = name.removeprefix(MTEB)
    if wanted in SUITES:
        return BenchmarkRequest(models=(model,), suites=(wanted,))
    return BenchmarkRequest(models=(model,), tasks=(wanted,))


def _data(
    settings: Settings, name: str, named: KeptData | None, release: int | None, split: Split
) -> DataChoice:
    """What to measure on: the file that was named now, or last, or what needs none."""
    kind = benchmark(name)
    if named is not None:
        return named.choice
    if kind is Hedgerow:
        return DataChoice(benchmark=name, release=release, split=split)
    kept = [] if kind.hub else kept_data(settings.data_folder, name)
    return kept[0].choice if kept else DataChoice(benchmark=name)


def _overlap(settings: Settings, engine: Engine, release: int | None) -> dict[str, Any]:
    """What the release and the bundled texts share with the known benchmarks."""
    with reading(engine) as session:
        found = compare(session, settings.data_folder, get_release(session, release))
    bundled = compare_bundled_texts(settings.data_folder)
    return {
        "overlap": [compared.facts for compared in found],
        "bundled_overlap": [compared.facts for compared in bundled],
    }


def _general(name: str, rows: list[Scored]) -> dict[str, Any]:
    """The tasks of a suite and their mean, or the single task."""
    if len(rows) == 1:
        return facts(rows[0]) | {"benchmark": name}
    scores = [TaskScore(row.benchmark, str(row.summary["type"]), row.score) for row in rows]
    return {
        "benchmark": name,
        "metric": "mean over kinds of tasks",
        "score": average(scores),
        "n": len(rows),
        "model": rows[0].model,
        "architecture": rows[0].architecture,
        "model_hash": rows[0].model_hash,
        "kinds": by_kind(scores),
        "tasks": {row.benchmark: row.score for row in reversed(rows)},
    }


def _average_line(result: dict[str, Any]) -> list[str]:
    return [f"Mean over the kinds of tasks: {result['score']:.1f}."] if "kinds" in result else []
