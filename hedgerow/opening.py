"""Opening a project, and restoring one from a backup."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from db.errors import HedgerowError
from db.named_files import resolved
from db.settings import Settings, load_settings
from hedgerow.home import home_of
from hedgerow.progress import progress_bar
from hedgerow.project import Project


def open(
    place: str | os.PathLike[str] | None = None, *, create: bool = True, reviewer: str = ""
) -> Project:
    """Open a project. The web app and the command line can use it at the same time.

    Args:
        place: the folder of the project, or the address of a PostgreSQL database such as
            ``postgresql://host/name``. By default, HEDGEROW_DATABASE_URL and HEDGEROW_HOME
            determine the project; if neither is set, it is the current folder.
        create: whether to create an empty project if there is none.
        reviewer: the name that your decisions are stored under; by default HEDGEROW_REVIEWER.

    Raises:
        HedgerowError: there is no project and ``create`` is False, or the database cannot be
            opened.
        hedgerow.own_packages.ShadowedPackageError: one of your folders or files has the same name
            as one of Hedgerow's packages and is found first.

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
    """Restore a project from a backup, and open it.

    Args:
        file: a file written by `Project.backup`, or the copy (.bak) that an upgrade made.
        place: a new folder, or the address of an empty PostgreSQL database; by default as in
            `open`.
        reviewer: as in `open`.

    Raises:
        HedgerowError: the file is damaged, is not a backup, or was written by a newer version of
            Hedgerow, or there is already a project. Nothing is changed in these cases.

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
