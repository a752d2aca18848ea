"""Check the project."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.upkeep.checking import check_project
from hedgerow.runs.progress import progress_bar


def check(
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Recompute values that can be derived from other data. Decisions, texts and "
            "files are not changed.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the project's consistency: rows, status, search, releases, files and runs.

    The exit code is 1 if there are problems, or if problems remain after a repair.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        result = check_project(engine, settings, repair=repair, report=report)
    show(result.facts, as_json, *(finding.sentence() for finding in result.findings))
    if not result.is_clean:
        raise typer.Exit(1)
