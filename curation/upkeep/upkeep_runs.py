"""The runs that back a project up and check it: what the Settings page starts."""

from typing import Any

from curation.upkeep import backup_file, checking
from db.execution import RunContext
from db.run_folders import make_folder

BACKUP, CHECK = "backup", "check"
"""Kinds of runs."""


def back_up(context: RunContext) -> dict[str, Any]:
    """What a run of the kind 'backup' does: it writes a backup to the project's folder of them.

    Its parameter: ``artifacts``, whether to take along models, exports and logs.
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


def check(context: RunContext) -> dict[str, Any]:
    """What a run of the kind 'check' does: all checks, and repairs if ``repair`` is true."""
    return checking.check_project(
        context.engine,
        context.settings,
        repair=context.parameters["repair"],
        report=context.update,
    ).facts
