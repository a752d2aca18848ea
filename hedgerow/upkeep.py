"""What keeps a project safe: backups, copies and checks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.named_files import resolved
from hedgerow.home import Home
from hedgerow.runs.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd


class Upkeep:
    """Backups, copies and checks of `hedgerow.Project`."""

    _home: Home

    def backup(self, file: str | os.PathLike[str], *, artifacts: bool = True) -> Path:
        """Write the whole project to one file, which `hedgerow.restore` makes a project of.

        Args:
            file: a zip file that is not there yet.
            artifacts: take along models, exports and logs; otherwise the database alone.

        Returns:
            The file.

        Raises:
            HedgerowError: there is such a file already, or it cannot be written.

        >>> example_project().backup("backup.zip").name
        'backup.zip'
        """
        from curation.upkeep.backup_file import make_backup

        settings, engine = self._home
        place = resolved(os.fspath(file))
        with progress_bar() as report:
            return make_backup(engine, settings, place, artifacts=artifacts, report=report).path

    def copy_to(self, url: str) -> dict[str, Any]:
        """Copy the project's database to an empty one; models, exports and logs stay.

        Args:
            url: its address, such as ``postgresql://host/name`` or
                ``sqlite:////folder/hedgerow.db``.

        Returns:
            The rows of each table and the content hash, which both databases have.

        Raises:
            HedgerowError: the database is not empty or cannot be written, or a run is at work.
                Nothing was copied then.

        >>> project = example_project()
        >>> project.copy_to("sqlite:///copy.db")["rows"]["anchor"]
        1
        """
        from curation.upkeep.moving import copy_project

        settings, engine = self._home
        with progress_bar() as report:
            return copy_project(engine, settings, url, report=report).facts

    def check(self, *, repair: bool = False) -> pd.DataFrame:
        """Check that the project agrees with itself: rows, status, search, releases, files, runs.

        Args:
            repair: put right what follows from what is stored.

        Returns:
            A row a check: how many places are wrong (``number``), an example, whether they were
            repaired, and what to do otherwise. ``open`` says whether something is still wrong.

        >>> bool(example_project().check()["open"].any())
        False
        """
        import pandas as pd

        from curation.upkeep.checking import check_project

        settings, engine = self._home
        with progress_bar() as report:
            result = check_project(engine, settings, repair=repair, report=report)
        return pd.DataFrame(result.facts["findings"]).set_index("id")
