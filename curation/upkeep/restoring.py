"""Restore a backup into an empty working directory or an empty database."""

import json
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from sqlalchemy import Engine, delete, update
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.roles import require
from curation.upkeep.backup_file import ARTIFACTS, DATABASE, FORMAT, MANIFEST
from curation.upkeep.copying import copy_database, require_empty
from db import Report
from db.engine import create_engine, writing
from db.errors import HedgerowError
from db.migrate import backups, current_revision, upgrade
from db.models import Lease, Run, RunState, TeamRole
from db.run_process import make_folder
from db.runs import UNFINISHED
from db.settings import Settings

_SQLITE = b"SQLite format 3\0"
_ENDINGS = ("", "-wal", "-shm")


class Restored(NamedTuple):
    """A restored backup.

    Attributes:
        schema: the backup's schema revision; an older one was upgraded.
        files: the number of artifacts in it.
    """

    schema: str
    files: int


def restore_backup(settings: Settings, path: Path, *, report: Report) -> Restored:
    """Restore a backup to the project location in the settings.

    The copy that an upgrade makes next to a database (``….bak``) is a backup without artifacts.

    Raises:
        HedgerowError: the file is damaged, not a backup, or from a newer Hedgerow, or the location
            already has content. Nothing is changed.
    """
    require(TeamRole.LEAD)
    home = settings.home
    target = create_engine(settings.url)
    try:
        _require_nothing(settings, target)
        with tempfile.TemporaryDirectory(prefix=".hedgerow-restore-", dir=home) as name:
            with _explained(path):
                files = _unpack(path, Path(name), report)
            schema = _upgraded(Path(name, DATABASE), path)
            _place_artifacts(Path(name, ARTIFACTS), settings.data_folder)
            try:
                _place_database(Path(name, DATABASE), target, report)
            except BaseException:
                shutil.rmtree(settings.data_folder, ignore_errors=True)
                raise
    finally:
        target.dispose()
    return Restored(schema, files)


def _require_nothing(settings: Settings, target: Engine) -> None:
    make_folder(settings.home)
    require_empty(target)
    folder = settings.data_folder
    if folder.is_dir() and any(folder.iterdir()):
        raise HedgerowError(
            f"{folder} already contains models, exports or logs; restore into another working "
            "directory (HEDGEROW_HOME)."
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise HedgerowError(f"There is no file {path}.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError) as error:
        raise HedgerowError(
            f"{path} is damaged or not a Hedgerow backup ({error}); use another backup. Nothing "
            "was changed."
        ) from error
    except OSError as error:
        raise HedgerowError(
            f"{path} cannot be unpacked ({error.strerror or error}); free some space or check the "
            "permissions. Nothing was changed."
        ) from error


def _unpack(path: Path, folder: Path, report: Report) -> int:
    """Unpack the backup, verify each file's checksum, and return the number of artifacts."""
    with path.open("rb") as file:
        is_database = file.read(len(_SQLITE)) == _SQLITE
    if is_database:
        shutil.copyfile(path, folder / DATABASE)
        return 0
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("hedgerow_backup") != FORMAT:
            raise ValueError(f"unexpected content in {MANIFEST}")
        entries = [entry for entry in archive.infolist() if entry.filename != MANIFEST]
        for number, entry in enumerate(entries):
            report(number, len(entries), "Unpacking.")
            _check_name(entry.filename)
            archive.extract(entry, folder)
        archive.getinfo(DATABASE)
    return len(entries) - 1


def _check_name(name: str) -> None:
    """Refuse a name that points outside of the project."""
    parts = PurePosixPath(name).parts
    inside = name == DATABASE or (name.startswith(ARTIFACTS) and ".." not in parts)
    if not inside or "\\" in name:
        raise ValueError(f"unexpected entry {name[:80]!r}")


def _upgraded(file: Path, backup: Path) -> str:
    """Check the database for damage and upgrade it; returns its earlier schema revision."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            result = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        result = str(error)
    if result != "ok":
        raise HedgerowError(
            f"The database in {backup} is damaged ({result.splitlines()[-1]}); use another backup. "
            "Nothing was changed."
        )
    engine = create_engine(URL.create("sqlite", database=str(file)))
    try:
        found = current_revision(engine)
        if found is None:
            raise HedgerowError(f"{backup} is a database, but not from Hedgerow.")
        upgrade(engine)
        for copy in backups(engine):
            copy.unlink()  # not needed: the backup still exists
        with writing(engine) as session:
            _end_processes(session)
    finally:
        engine.dispose()
    return found


def _end_processes(session: Session) -> None:
    """Mark unfinished runs as interrupted: their processes belong to the original project."""
    session.execute(
        update(Run)
        .where(col(Run.state).in_(UNFINISHED))
        .values(
            state=RunState.INTERRUPTED, message="The run was unfinished when the backup was made."
        )
    )
    session.execute(delete(Lease))


def _place_artifacts(unpacked: Path, folder: Path) -> None:
    if unpacked.is_dir():
        if folder.is_dir():
            folder.rmdir()  # empty, as checked before
        unpacked.rename(folder)


def _place_database(file: Path, target: Engine, report: Report) -> None:
    """Move the file, or copy its rows to PostgreSQL. This comes last and completes the project."""
    if target.name != "sqlite":
        source = create_engine(URL.create("sqlite", database=str(file)))
        try:
            copy_database(source, target, report=report)
        finally:
            source.dispose()
        return
    place = Path(target.url.database or "")
    target.dispose()
    for ending in _ENDINGS[1:]:
        place.with_name(place.name + ending).unlink(missing_ok=True)
    shutil.move(file, place)
