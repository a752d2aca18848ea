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

from curation.review.people.roles import Role, require
from curation.upkeep.backup_file import ARTIFACTS, DATABASE, FORMAT, MANIFEST
from curation.upkeep.copying import Report, copy_database, require_empty
from db.engine import create_engine, writing
from db.errors import HedgerowError
from db.migrate import backups, current_revision, upgrade
from db.models import Lease, Run, RunState
from db.run_folders import make_folder
from db.runs import UNFINISHED
from db.settings import Settings

_SQLITE = b"SQLite format 3\0"
_ENDINGS = ("", "-wal", "-shm")


class Restored(NamedTuple):
    """A restored backup.

    Attributes:
        schema: that the backup had; an older one was upgraded.
        files: artifacts that came with it.
    """

    schema: str
    files: int


def restore_backup(settings: Settings, path: Path, *, report: Report) -> Restored:
    """Restore a backup to the project location in the settings.

    The copy that an upgrade made next to a database (``….bak``) is a backup without artifacts.

    Raises:
        HedgerowError: the file is damaged or no backup, a newer Hedgerow made it, or there is
            something already. Nothing is changed then.
    """
    require(Role.LEAD)
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
    """Unpack the backup; how many artifacts it has. Each file's checksum is compared."""
    with path.open("rb") as file:
        is_database = file.read(len(_SQLITE)) == _SQLITE
    if is_database:
        shutil.copyfile(path, folder / DATABASE)
        return 0
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("hedgerow_backup") != FORMAT:
            raise ValueError(f"{MANIFEST} says something else")
        entries = [entry for entry in archive.infolist() if entry.filename != MANIFEST]
        for number, entry in enumerate(entries):
            report(number, len(entries), "Unpacking.")
            _check_name(entry.filename)
            archive.extract(entry, folder)
        archive.getinfo(DATABASE)
    return len(entries) - 1


def _check_name(name: str) -> None:
    """Refuse a name that leads out of the project."""
    parts = PurePosixPath(name).parts
    inside = name == DATABASE or (name.startswith(ARTIFACTS) and ".." not in parts)
    if not inside or "\\" in name:
        raise ValueError(f"it holds {name[:80]!r}")


def _upgraded(file: Path, backup: Path) -> str:
    """Look whether the database is whole, and bring it to this program's schema; the one it had."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        raise HedgerowError(
            f"The database in {backup} is damaged ({said.splitlines()[-1]}); use another backup. "
            "Nothing was changed."
        )
    engine = create_engine(URL.create("sqlite", database=str(file)))
    try:
        found = current_revision(engine)
        if found is None:
            raise HedgerowError(f"{backup} is a database, but not from Hedgerow.")
        upgrade(engine)
        for copy in backups(engine):
            copy.unlink()  # the backup itself is one
        with writing(engine) as session:
            _end_processes(session)
    finally:
        engine.dispose()
    return found


def _end_processes(session: Session) -> None:
    """What was at work when the backup was made is at work there, not here."""
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
            folder.rmdir()  # it is empty
        unpacked.rename(folder)


def _place_database(file: Path, target: Engine, report: Report) -> None:
    """Move it, or copy its rows to PostgreSQL. It comes last: before, there is no project."""
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
