"""The newest results of the models in the benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.models.score_rows import asked_lines, facts, table, unseen_lines
from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from db.engine import reading
from training.benchmarks.results.queries import newest
from training.benchmarks.results.unseen_antonyms import unseen_scores


def newest_scores(
    context: typer.Context,
    name: Annotated[str, typer.Option("--benchmark", help="Only this one, or mteb's task.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the newest result of each model in each benchmark, or build a suite of your own."""
    if context.invoked_subcommand is not None:
        return
    settings, engine = open_home()
    with reading(engine) as session:
        rows = newest(session, benchmark=name)
        unseen = unseen_scores(session, settings.data_folder, rows)
    result = {"results": [facts(row, unseen) for row in rows]}
    lines = (
        [table(rows), *unseen_lines(rows, unseen), *asked_lines(rows)]
        if rows
        else ["There are no results yet."]
    )
    show(result, as_json, *lines)
