"""Facts about the project's database and data folder, for display; without secrets."""

import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, func, select, text
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

from curation.upkeep.backup_file import backup_folder
from db.failures import shown_address
from db.migrate import backups, current_revision, head_revision
from db.models import (
    Anchor,
    Answer,
    Decision,
    Diagnostic,
    Encoder,
    Note,
    Release,
    ReleaseItem,
    Reviewer,
    Run,
    Variant,
    VariantCosine,
)
from db.settings import Settings

COUNTED: dict[str, type[SQLModel]] = {
    "anchors": Anchor,
    "variants": Variant,
    "decisions": Decision,
    "notes": Note,
    "reviewers": Reviewer,
    "measured variants": Diagnostic,
    "cosines": VariantCosine,
    "encoders": Encoder,
    "releases": Release,
    "release items": ReleaseItem,
    "language model answers": Answer,
    "runs": Run,
}
"""Plural name of the rows → the table to count."""


class Backup(NamedTuple):
    """A backup, or the copy of the database made by an upgrade; its size in bytes."""

    path: Path
    size: int
    made_at: datetime


class DatabaseFacts(NamedTuple):
    """The database.

    Attributes:
        address: database address without the password.
        engine: SQLite or PostgreSQL, with its version.
        journal: the journal mode.
        size: size in bytes, for SQLite including the write-ahead log; None if unknown.
        schema: its schema revision, and the newest one that this program knows.
    """

    address: str
    engine: str
    journal: str
    size: int | None
    schema: tuple[str | None, str]
    backups: list[Backup]
    rows: dict[str, int]


class FolderFacts(NamedTuple):
    """A folder: size of its contents and free space on its disk, in bytes."""

    path: Path
    size: int
    free: int


def database_facts(session: Session) -> DatabaseFacts:
    """The current facts about the database."""
    engine = session.get_bind().engine
    is_sqlite = engine.name == "sqlite"
    query = "SELECT sqlite_version()" if is_sqlite else "SHOW server_version"
    version = str(session.execute(text(query)).scalar_one()).split()[0]
    journal = session.execute(text("PRAGMA journal_mode")).scalar_one() if is_sqlite else "wal"
    return DatabaseFacts(
        address=shown_address(engine.url),
        engine=f"{'SQLite' if is_sqlite else 'PostgreSQL'} {version}",
        journal="write-ahead log" if journal == "wal" else str(journal),
        size=_database_size(session, engine),
        schema=(current_revision(engine), head_revision()),
        backups=_found(backups(engine)),
        rows={
            name: session.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in COUNTED.items()
        },
    )


def made_backups(settings: Settings) -> list[Backup]:
    """The backups in the project's backup folder, the newest last."""
    return _found(sorted(backup_folder(settings).glob("*.zip")))


def _found(paths: list[Path]) -> list[Backup]:
    found = ((path, path.stat()) for path in paths)
    return [
        Backup(path, state.st_size, datetime.fromtimestamp(state.st_mtime, UTC))
        for path, state in found
    ]


def _database_size(session: Session, engine: Engine) -> int | None:
    if engine.name == "postgresql":
        query = text("SELECT pg_database_size(current_database())")
        return int(session.execute(query).scalar_one())
    path = Path(engine.url.database or "")
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def data_folder_facts(settings: Settings) -> FolderFacts:
    """The data folder, which may not exist yet."""
    folder = settings.data_folder
    size = 0
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            with suppress(FileNotFoundError):  # a run has just deleted it
                size += os.lstat(os.path.join(place, name)).st_size
    return FolderFacts(folder, size, shutil.disk_usage(settings.home).free)


def size_text(size: int) -> str:
    """A number of bytes as text: '212 MB'."""
    if size < 1000:
        return f"{size} bytes"
    amount, units = size / 1000, ["kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        del units[0]
    return f"{amount:.0f} {units[0]}" if amount >= 9.95 else f"{amount:.1f} {units[0]}"
