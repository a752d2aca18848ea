"""A backup: one zip file with the database and the artifacts, for any database that Hedgerow uses.

It has the database as a SQLite file, even if the project uses PostgreSQL. The file is a consistent
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

from curation.partial_files import PART, clear_partials, new_partial
from curation.review.people.roles import Role, require
from curation.similar.stored_embeddings import FOLDER as EMBEDDINGS
from curation.upkeep.copying import Report, copy_database
from db.engine import create_engine, explained
from db.errors import HedgerowError
from db.migrate import current_revision
from db.settings import Settings

MANIFEST, DATABASE, ARTIFACTS = "manifest.json", "hedgerow.db", "hedgerow_data/"
"""What the zip file holds: the manifest first, then the database, then the data folder."""

FORMAT = 1
_PACKED = frozenset({".safetensors", ".zip", ".gz", ".parquet", ".png"})
"""Endings of files that compressing makes hardly smaller."""


class MadeBackup(NamedTuple):
    """A finished backup.

    Attributes:
        size: bytes.
        schema: of the database in it.
        files: artifacts in it; None where they were left out.
    """

    path: Path
    size: int
    schema: str
    files: int | None

    @property
    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
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
        artifacts: take along models, exports and logs; otherwise the database alone.

    Raises:
        HedgerowError: there is such a file already, its folder is missing or part of the data
            folder, or it cannot be written. No file is left then.
    """
    require(Role.LEAD)
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
    """Where the Settings page puts backups; it need not be there."""
    return settings.home / "backups"


def name_for_now() -> str:
    """A file name with the present moment in it."""
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
    """Copy the database to a SQLite file; its schema."""
    if engine.name == "sqlite":
        source = engine.url.database or ""
        report(0, 0, "Copying the database.")
        with (
            explained(engine),
            closing(sqlite3.connect(source)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            # In one step: one of several begins again whenever somebody writes in between.
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
    """The files of the data folder: no links, no drafts, and no embeddings, which a run computes
    again."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.suffix != PART
        and path.parent != folder / EMBEDDINGS
    )


def _add(archive: zipfile.ZipFile, files: list[Path], settings: Settings, report: Report) -> int:
    """Add the artifacts; how many. One that a run has deleted meanwhile is passed over."""
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
