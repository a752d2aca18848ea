"""The newest benchmark results of each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.models.score_rows import asked_lines, facts, table, unseen_lines
from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from db.engine import reading
from training.benchmarks.results.paper_tables import Line
from training.benchmarks.results.published_lines import shortened
from training.benchmarks.results.queries import bases, newest
from training.benchmarks.results.score_file import titles
from training.benchmarks.results.score_table import ScoreColumn, columns, lines
from training.benchmarks.results.spending import DETAILS, details, per_item
from training.benchmarks.results.unseen_antonyms import unseen_scores

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
