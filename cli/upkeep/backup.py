"""Back up the project."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.project.facts import size_text
from curation.upkeep.backup_file import make_backup
from db.named_files import resolved
from hedgerow.runs.progress import progress_bar


def backup(
    file: Annotated[Path, typer.Argument(help="The zip file to write. It must not exist yet.")],
    without_artifacts: Annotated[
        bool,
        typer.Option("--without-artifacts", help="Leave out models, exports and logs."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole project to one file: the database, models, exports and logs.

    Others can keep working: the backup contains a consistent snapshot of the database.
    """
    settings, engine = open_home()
    with progress_bar() as report:
        made = make_backup(
            engine, settings, resolved(file), artifacts=not without_artifacts, report=report
        )
    files = "no artifacts" if made.files is None else counted(made.files, "artifact")
    show(
        made.facts,
        as_json,
        f"Backup saved as {made.path} ({size_text(made.size)}): the database and {files}.",
        "Run 'hedgerow db restore FILE' to restore it.",
    )
