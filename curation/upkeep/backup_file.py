"""Backups: one zip file with the database and the artifacts.

The database in it is a SQLite file, even if the project uses PostgreSQL. It is a consistent
snapshot, taken while others keep working. A small manifest records its origin.
"""

import json
import os
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from curation.decisions.roles import require
from curation.partial_files import PART, clear_partials, new_partial
from curation.similar import FOLDER as EMBEDDINGS
from curation.upkeep.copying import copy_database
from db import Report
from db.engine import create_engine, explained
from db.errors import HedgerowError
from db.execution import RunContext
from db.migrate import current_revision
from db.models import TeamRole
from db.run_process import make_folder
from db.settings import Settings

MANIFEST, DATABASE, ARTIFACTS = "manifest.json", "hedgerow.db", "hedgerow_data/"
"""The entries of the zip file: manifest, database, data folder."""

FORMAT = 1
_PACKED = frozenset({".safetensors", ".zip", ".gz", ".parquet", ".png"})
"""Suffixes of files that compression hardly reduces."""


class MadeBackup(NamedTuple):
    """A finished backup.

    Attributes:
        size: size in bytes.
        schema: schema revision of the database in it.
        files: number of artifacts in it; None if they were left out.
    """

    path: Path
    size: int
    schema: str
    files: int | None

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return self._asdict() | {"path": str(self.path)}


def make_backup(
    engine: Engine,
    settings: Settings,
    path: Path,
    *,
    artifacts: bool = True,
    report: Report,
) -> MadeBackup:
    """Write a backup to a new file.

    Args:
        artifacts: whether to include models, exports and logs.

    Raises:
        HedgerowError: the file already exists, its folder is missing or part of the data folder, or
            it cannot be written. No file is left behind.
    """
    require(TeamRole.LEAD)
    _check_place(path, settings)
    clear_partials(path)
    draft = new_partial(path)
    try:
        with (
            _explained(path),
            tempfile.TemporaryDirectory(prefix=".hedgerow-", dir=path.parent) as folder,
        ):
            snapshot = Path(folder, DATABASE)
            schema = _snapshot(engine, snapshot, report)
            files = _artifacts(settings.data_folder) if artifacts else None
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.writestr(MANIFEST, _manifest(schema, artifacts=artifacts))
                archive.write(snapshot, DATABASE)
                stored = None if files is None else _add(archive, files, settings, report)
            with draft.open("rb") as written:
                os.fsync(written.fileno())
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return MadeBackup(path, path.stat().st_size, schema, stored)


def backup_folder(settings: Settings) -> Path:
    """The folder for backups from the Settings page. It may not exist."""
    return settings.home / "backups"


def name_for_now() -> str:
    """A file name with the current time."""
    return f"hedgerow-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip"


def _check_place(path: Path, settings: Settings) -> None:
    if path.exists():
        raise HedgerowError(
            f"The file {path} already exists; choose another name, since backups never "
            "replace files."
        )
    if not path.parent.is_dir():
        raise HedgerowError(f"There is no folder {path.parent}; create it, or choose another file.")
    if path.is_relative_to(settings.data_folder):
        raise HedgerowError(
            f"A backup in {settings.data_folder} would become part of the next backup; choose a "
            "file in another folder."
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise HedgerowError(
            f"The backup {path} cannot be written ({reason}); free some space, or choose another "
            "place."
        ) from error


def _snapshot(engine: Engine, target: Path, report: Report) -> str:
    """Copy the database to a SQLite file; returns its schema revision."""
    if engine.name == "sqlite":
        source = engine.url.database or ""
        report(0, 0, "Copying the database.")
        with (
            explained(engine),
            closing(sqlite3.connect(source)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            # In one step: a copy in several steps starts again whenever somebody writes.
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # one file, without a separate log
    else:
        copy_to = create_engine(URL.create("sqlite", database=str(target)))
        try:
            copy_database(engine, copy_to, report=report)
        finally:
            copy_to.dispose()
    found = current_revision(engine)
    assert found is not None  # a project that is open has a schema
    return found


def _manifest(schema: str, *, artifacts: bool) -> str:
    return json.dumps(
        {
            "hedgerow_backup": FORMAT,
            "schema": schema,
            "version": metadata.version("hedgerow"),
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "artifacts": artifacts,
        }
    )


def _artifacts(folder: Path) -> list[Path]:
    """The files of the data folder, without links, partial files, and embeddings, which a run can
    recompute."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.suffix != PART
        and path.parent != folder / EMBEDDINGS
    )


def _add(archive: zipfile.ZipFile, files: list[Path], settings: Settings, report: Report) -> int:
    """Add the artifacts and return their number. Files deleted meanwhile are skipped."""
    stored = 0
    for path in files:
        report(stored, len(files), "Packing models, exports and logs.")
        name = ARTIFACTS + path.relative_to(settings.data_folder).as_posix()
        packed = path.suffix in _PACKED
        try:
            archive.write(path, name, zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED)
        except FileNotFoundError:
            continue
        stored += 1
    return stored


# -- The run that backs up a project. The Settings page starts it ---------------------------------


KIND = "backup"


def work(context: RunContext) -> dict[str, Any]:
    """Write a backup to the project's backup folder.

    The parameter ``artifacts`` says whether to include models, exports and logs.
    """
    folder = make_folder(backup_folder(context.settings))
    made = make_backup(
        context.engine,
        context.settings,
        folder / name_for_now(),
        artifacts=context.parameters["artifacts"],
        report=context.update,
    )
    return made.facts
