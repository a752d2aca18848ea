"""The project of the working directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from db.settings import load_settings
from hedgerow.home import Home, home_of
from hedgerow.home import asked_by as asked_by
from hedgerow.home import reviewer_id as reviewer_id

if TYPE_CHECKING:
    from hedgerow.project import Project


def open_home(*, create: bool = False) -> Home:
    """Return the settings and the database, which must exist unless it may be created.

    Raises:
        HedgerowError: there is no project, or its database cannot be opened.
    """
    return home_of(load_settings(), create=create)


def this_project() -> Project:
    """The project of the working directory as a Python object.

    Raises:
        HedgerowError: as in `open_home`.
    """
    from hedgerow.project import Project  # noqa: PLC0415  (keeps other commands fast)

    return Project(open_home())
