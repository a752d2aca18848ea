"""Checking the project."""

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
            help="Put right what follows from what is stored; decisions, texts and files stay.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that the project agrees with itself: rows, status, search, releases, files, runs.

    The exit code is 1 where something is wrong, or left wrong by a repair.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        result = check_project(engine, settings, repair=repair, report=report)
    show(result.facts, as_json, *(finding.sentence() for finding in result.findings))
    if not result.is_clean:
        raise typer.Exit(1)
