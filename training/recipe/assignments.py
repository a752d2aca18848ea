"""Changes of a recipe as `--set` takes them: key=value."""

from __future__ import annotations

from collections.abc import Sequence

from db.errors import HedgerowError
from training.recipe.refusals import shown


def changes_in(assignments: Sequence[str]) -> dict[str, str | None]:
    """The values by key. The last value of a key counts; 'none' means no limit, or no value.

    Raises:
        HedgerowError: an assignment without '='.
    """
    changes: dict[str, str | None] = {}
    for assignment in assignments:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not key or not equals:
            raise HedgerowError(f"Expected key=value, such as epochs=1, found {shown(assignment)}.")
        changes[key] = None if value.lower() in {"none", "null"} else value
    return changes
