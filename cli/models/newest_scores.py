"""The newest results of the models in the benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.models.score_rows import facts, table
from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from db.engine import reading
from training.benchmarks.results.queries import newest


def newest_scores(
    context: typer.Context,
    name: Annotated[str, typer.Option("--benchmark", help="Only this one, or mteb's task.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the newest result of each model in each benchmark, or build a suite of your own."""
    if context.invoked_subcommand is not None:
        return
    _, engine = open_home()
    with reading(engine) as session:
        rows = newest(session, benchmark=name)
    result = {"results": [facts(row) for row in rows]}
    show(result, as_json, table(rows) if rows else "There are no results yet.")
