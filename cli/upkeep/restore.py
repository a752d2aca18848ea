"""Restore a backup."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.upkeep.restoring import restore_backup
from db.failures import shown_address
from db.named_files import resolved
from db.settings import load_settings
from hedgerow.runs.progress import progress_bar


def restore(
    file: Annotated[
        Path, typer.Argument(help="A backup, or the copy (.bak) that an upgrade made.")
    ],
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty working directory and an empty database.

    An older backup is upgraded. Nothing is overwritten.
    """
    settings = load_settings()
    with progress_bar() as report:
        restored = restore_backup(settings, resolved(file), report=report)
    address = shown_address(settings.url)
    show(
        {"database": address, **restored._asdict()},
        as_json,
        f"Restored the database {address} and {counted(restored.files, 'artifact')} in "
        f"{settings.data_folder}.",
        "Next: run 'hedgerow db check' to check the project.",
    )
