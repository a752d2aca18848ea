"""Results of benchmarks, for scripts and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home
from cli.terminal import AsJson, show, table_of
from db.engine import reading
from training.benchmarks.harness_names import LM_EVAL
from training.benchmarks.results.paper_tables import Line, shortened
from training.benchmarks.results.queries import (
    ModelKey,
    Scored,
    bases,
    newest,
    prompting_description,
    unanswered_description,
)
from training.benchmarks.results.score_file import titles
from training.benchmarks.results.score_table import (
    DETAILS,
    ScoreColumn,
    columns,
    details,
    lines,
    per_item,
)
from training.benchmarks.results.semantoneg_analyses import (
    GROUP_HEAD,
    MODEL_HEAD,
    OTHER,
    UnseenScore,
    group_rows,
    groups,
    measured_accuracies,
    model_rows,
    published_accuracies,
    unseen_scores,
)
from training.benchmarks.tasks.general import TaskScore, average, by_kind
from training.benchmarks.tasks.semantoneg import SemAntoNeg

Unseen = Mapping[int, UnseenScore]
"""The second scores by result id, for SemAntoNeg results of models trained here."""


def facts(row: Scored, unseen: Unseen) -> dict[str, Any]:
    """A result for scripts: the scores and all inputs, without versions."""
    interval = row.interval
    second = {"unseen_antonyms": unseen[row.id].facts} if row.id in unseen else {}
    return second | {
        "benchmark": row.benchmark,
        "metric": row.metric,
        "score": row.score,
        "n": row.n,
        "interval": [interval.low, interval.high] if interval else None,
        "ties": row.ties,
        "unanswered": row.unanswered,
        "unanswered_share": row.unanswered_share,
        "asked": dict(row.asked) or None,
        "model": row.model,
        "architecture": row.architecture,
        "scoring": row.scoring,
        "query_prompt": row.prompts.query,
        "document_prompt": row.prompts.document,
        "model_hash": row.model_hash,
        "data": row.data,
        "data_hash": row.data_hash,
        "run": row.run_id,
        "outcomes": row.summary.get("outcomes", {}),
        "figures": row.summary.get("figures", {}),
        "breakdowns": row.summary.get("breakdowns", {}),
    }


def facts_by_model(
    rows: Sequence[Scored], unseen: Unseen, *, suite: str = ""
) -> list[dict[str, Any]]:
    """The result of each model of a run, in the order of measurement.

    Args:
        rows: the newest first.
        suite: a suite of mteb or lm_eval tasks, or a single task, as named in the command; '' for a
            benchmark.
    """
    found: dict[ModelKey, list[Scored]] = {}
    for row in reversed(rows):
        found.setdefault(row.model_key, []).append(row)
    return [_tasks(suite, own) if suite else facts(own[-1], unseen) for own in found.values()]


def _tasks(name: str, rows: Sequence[Scored]) -> dict[str, Any]:
    """The tasks of a suite and their mean, or the single task."""
    if len(rows) == 1:
        return facts(rows[0], {}) | {"benchmark": name}
    if name.startswith(LM_EVAL):
        mean = {"metric": "mean over tasks", "score": sum(r.score for r in rows) / len(rows)}
    else:
        scores = [TaskScore(row.benchmark, str(row.summary["type"]), row.score) for row in rows]
        kinds = by_kind(scores)
        mean = {"metric": "mean over kinds of tasks", "score": average(scores), "kinds": kinds}
    return {
        "benchmark": name,
        **mean,
        "n": len(rows),
        "model": rows[0].model,
        "architecture": rows[0].architecture,
        "model_hash": rows[0].model_hash,
        "tasks": {row.benchmark: row.score for row in rows},
    }


def is_average(result: Mapping[str, Any]) -> bool:
    """Whether a result of `facts_by_model` is the mean of a suite."""
    return "tasks" in result


def average_line(result: Mapping[str, Any]) -> str:
    """The mean of a suite, for people."""
    return f"{result['metric'].capitalize()}: {result['score']:.1f} ({result['model']})."


def unseen_lines(rows: Sequence[Scored], unseen: Unseen) -> list[str]:
    """The second score of results that have one, for people."""
    return [f"{row.title}: {unseen[row.id].description}" for row in rows if row.id in unseen]


def asked_lines(rows: Sequence[Scored]) -> list[str]:
    """The prompt of each language model and its missing answers, for people."""
    described = [
        (row, [prompting_description(row.asked), unanswered_description(row)]) for row in rows
    ]
    return [
        " ".join([f"{row.title}:", *filter(None, parts)]) for row, parts in described if any(parts)
    ]


def table(rows: list[Scored]) -> Table:
    """Results for people, one row each."""
    return table_of(
        "benchmark",
        "model",
        "score",
        "95% interval",
        "items",
        "data",
        "run",
        rows=(
            (
                row.benchmark,
                row.title,
                f"{row.score:.1f}",
                _interval(row),
                row.n or "",
                row.data,
                row.run_id,
            )
            for row in rows
        ),
    )


def _interval(row: Scored) -> str:
    return f"{row.interval.low:.1f} to {row.interval.high:.1f}" if row.interval else ""


# -- The newest benchmark results of each model ----------------------------------------------------


NOTHING = "There are no results yet."


def newest_scores(
    context: typer.Context,
    name: Annotated[str, typer.Option("--benchmark", help="Only this benchmark or task.")] = "",
    wide: Annotated[
        bool,
        typer.Option(
            "--table",
            help="One row per model and one column per benchmark, with averages, time and cost "
            "per item, and published scores.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the newest result of each model in each benchmark."""
    if context.invoked_subcommand is not None:
        return
    settings, engine = open_home()
    with reading(engine) as session:
        rows = newest(session, benchmark=name)
        unseen = unseen_scores(session, settings.data_folder, rows)
        trained_from = bases(session, settings.data_folder, rows)
    if wide:
        found = columns(rows, tasks=True)
        made, _ = shortened(lines(rows, trained_from=trained_from))
        show(_facts(made, found), as_json, _table(made, found) if rows else NOTHING)
        return
    result = {"results": [facts(row, unseen) for row in rows]}
    shown = [table(rows), *unseen_lines(rows, unseen), *asked_lines(rows)] if rows else [NOTHING]
    show(result, as_json, *shown)


def _facts(made: Sequence[Line], found: Sequence[ScoreColumn]) -> dict[str, Any]:
    """The table for scripts; scores in points by column title."""
    names = titles(found)
    return {
        "columns": list(names.values()),
        "lines": [
            {
                "model": line.model,
                "name": line.name,
                "published": line.published,
                "source": line.source,
                "kind": line.kind,
                "seconds_per_item": spent.seconds,
                "cost_per_item": spent.cost,
                "scores": {names[key]: line.scores[key] for key in names if key in line.scores},
            }
            for line in made
            for spent in [per_item(line, names)]
        ],
    }


def _table(made: Sequence[Line], found: Sequence[ScoreColumn]) -> Table:
    """The table for people; published rows name their paper."""
    names = titles(found)
    return table_of(
        *("model", *DETAILS, *names.values()),
        rows=(
            (
                f"{line.model} ({line.source})" if line.published else line.model,
                *details(line, DETAILS, list(names)),
                *(f"{line.scores[key]:.1f}" if key in line.scores else "" for key in names),
            )
            for line in made
        ),
    )


# -- SemAntoNeg by training objective --------------------------------------------------------------


def objectives(as_json: AsJson = False) -> None:
    """Show SemAntoNeg's published accuracies by training objective, and those of your models."""
    _, engine = open_home()
    with reading(engine) as session:
        own = measured_accuracies(newest(session, benchmark=SemAntoNeg.id))
    published = published_accuracies()
    found = groups(published)
    result = {
        "groups": [group._asdict() for group in found],
        "models": [
            dict(zip(MODEL_HEAD, row, strict=True)) for row in model_rows([*own, *published])
        ],
    }
    lines = [table_of(*GROUP_HEAD, rows=group_rows(found))]
    if own:
        lines.append(table_of(*MODEL_HEAD, rows=model_rows(own)))
    other = sum(model.objective == OTHER for model in published)
    summary = (
        f"The {len(published):,} models of the paper, each on {SemAntoNeg.published_items:,} "
        f"items. {other} of them have another objective."
    )
    show(result, as_json, *lines, summary)
