"""The run that checks a project. The Settings page starts it."""

from typing import Any

from curation.upkeep import checking
from db.execution import RunContext

KIND = "check"


def work(context: RunContext) -> dict[str, Any]:
    """Run all checks, and repairs if the parameter ``repair`` is true."""
    return checking.check_project(
        context.engine,
        context.settings,
        repair=context.parameters["repair"],
        report=context.update,
    ).facts
