"""Opening a project, and restoring one from a backup."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from db.errors import HedgerowError
from db.named_files import resolved
from db.settings import Settings, load_settings
from hedgerow.home import home_of
from hedgerow.project import Project
from hedgerow.runs.progress import progress_bar


def open(
    place: str | os.PathLike[str] | None = None, *, create: bool = True, reviewer: str = ""
) -> Project:
    """Open a project, the same one as in the browser and on the command line.

    Args:
        place: its folder, or the address of a PostgreSQL database such as
            ``postgresql://host/name``. Without one, what HEDGEROW_HOME and HEDGEROW_DATABASE_URL
            name, otherwise the current folder.
        create: create an empty project if there is none.
        reviewer: the name that decisions are stored under (otherwise HEDGEROW_REVIEWER).

    Raises:
        HedgerowError: there is no project and none may be made, or its database cannot be opened.
        hedgerow.own_packages.ShadowedPackageError: a folder or file of yours has the name of one
            of Hedgerow's packages.

    >>> project = hedgerow.open("somewhere")
    >>> len(project.anchors())
    0
    """
    return Project(home_of(_settings(place, reviewer=reviewer), create=create))


def restore(
    file: str | os.PathLike[str],
    place: str | os.PathLike[str] | None = None,
    *,
    reviewer: str = "",
) -> Project:
    """Make a project again from a backup, and open it.

    Args:
        file: what `Project.backup` has written, or the copy (.bak) that an upgrade has left.
        place: a new folder, or the address of an empty PostgreSQL database; without one as in
            `open`.
        reviewer: the name that decisions are stored under (otherwise HEDGEROW_REVIEWER).

    Raises:
        HedgerowError: the file is damaged or no backup, a newer Hedgerow made it, or there is a
            project already. Nothing is changed then.

    >>> file = example_project().backup("safe.zip")
    >>> len(hedgerow.restore(file, "elsewhere").anchors())
    1
    """
    from curation.upkeep.restoring import restore_backup

    settings = _settings(place, reviewer=reviewer)
    with progress_bar() as report:
        restore_backup(settings, resolved(os.fspath(file)), report=report)
    return Project(home_of(settings, create=False))


def _settings(place: str | os.PathLike[str] | None, *, reviewer: str) -> Settings:
    given: dict[str, Any] = {"reviewer": reviewer} if reviewer else {}
    if place is not None:
        address = os.fspath(place)
        if "://" in address:
            given["database_url"] = address
        elif Path(address).is_file():
            raise HedgerowError(
                f"Expected the folder of a project or the address of a database, found the file "
                f"{address}; open a folder, and add anchors from the file with anchors.add."
            )
        else:
            given |= {"home": Path(address), "database_url": ""}
    return load_settings(**given)
