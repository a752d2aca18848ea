"""Backing up, copying and checking a project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.named_files import resolved
from hedgerow.home import Home
from hedgerow.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd


class Upkeep:
    """The methods of `hedgerow.Project` for backups, copies and checks."""

    _home: Home

    def backup(self, file: str | os.PathLike[str], *, artifacts: bool = True) -> Path:
        """Back up the whole project to a zip file. `hedgerow.restore` restores it.

        Args:
            file: the path of a new zip file.
            artifacts: whether to include models, exports and logs as well as the database.

        Returns:
            The path of the backup.

        Raises:
            HedgerowError: the file already exists or cannot be written.

        >>> example_project().backup("backup.zip").name
        'backup.zip'
        """
        from curation.upkeep.backup_file import make_backup

        settings, engine = self._home
        place = resolved(os.fspath(file))
        with progress_bar() as report:
            return make_backup(engine, settings, place, artifacts=artifacts, report=report).path

    def copy_to(self, url: str) -> dict[str, Any]:
        """Copy the project's database to an empty one, without models, exports and logs.

        Args:
            url: the address of the empty database, such as ``postgresql://host/name`` or
                ``sqlite:////folder/hedgerow.db``.

        Returns:
            The number of rows in each table and the content hash, which is the same for both
            databases.

        Raises:
            HedgerowError: the database is not empty, it cannot be written, or a run is in
                progress. Nothing is copied in these cases.

        >>> project = example_project()
        >>> project.copy_to("sqlite:///copy.db")["rows"]["anchor"]
        1
        """
        from curation.upkeep.copying import copy_project

        settings, engine = self._home
        with progress_bar() as report:
            return copy_project(engine, settings, url, report=report).facts

    def check(self, *, repair: bool = False) -> pd.DataFrame:
        """Check that the project's rows, statuses, search, releases, files and runs are consistent.

        Args:
            repair: whether to recompute wrong values that can be derived from stored data.

        Returns:
            One row per check: the number of errors (``number``), an example, whether they were
            repaired, and what to do if not. ``open`` is True if errors remain.

        >>> bool(example_project().check()["open"].any())
        False
        """
        import pandas as pd

        from curation.upkeep.checking import check_project

        settings, engine = self._home
        with progress_bar() as report:
            result = check_project(engine, settings, repair=repair, report=report)
        return pd.DataFrame(result.facts["findings"]).set_index("id")
