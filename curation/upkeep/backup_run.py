"""The run that backs up a project. The Settings page starts it."""

from typing import Any

from curation.upkeep import backup_file
from db.execution import RunContext
from db.run_folders import make_folder

KIND = "backup"


def work(context: RunContext) -> dict[str, Any]:
    """Write a backup to the project's backup folder.

    The parameter ``artifacts`` says whether to include models, exports and logs.
    """
    folder = make_folder(backup_file.backup_folder(context.settings))
    made = backup_file.make_backup(
        context.engine,
        context.settings,
        folder / backup_file.name_for_now(),
        artifacts=context.parameters["artifacts"],
        report=context.update,
    )
    return made.facts
