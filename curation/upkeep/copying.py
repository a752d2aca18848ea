"""Copy a project's database to another one: SQLite or PostgreSQL, in either direction.

All rows are written in one transaction and compared with the source by a hash before it commits.
Until then, a SQLite copy is a draft next to its target. A copy that fails leaves nothing behind.
"""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Integer, Table, func, insert, inspect, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.orm import Session

from curation.decisions.roles import require
from curation.partial_files import clear_partials, new_partial
from curation.upkeep.content_hash import (
    Hashes,
    TableHash,
    all_tables,
    content_hash,
    count_rows,
    encoder_of,
    hash_tables,
    read_rows,
)
from db import Report
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError, first_line
from db.failures import shown_address
from db.migrate import upgrade
from db.models import RunState, TeamRole
from db.runs import under_way
from db.settings import Settings


class Copied(NamedTuple):
    """The result of a copy.

    Attributes:
        rows: the number of rows by table.
        content_hash: the hash of both databases.
    """

    rows: dict[str, int]
    content_hash: str


def copy_database(source: Engine, target: Engine, *, report: Report) -> Copied:
    """Copy all rows of the project into an empty database, and compare the two.

    The target gets the newest schema, which the source also has. Changes made to the source during
    the copy are not included.

    Raises:
        HedgerowError: the target is not empty, refuses a row, or differs at the end. It is left
            empty.
    """
    require_empty(target)
    file = target.url.database if target.name == "sqlite" else None
    if file is None:
        upgrade(target)
        return _copy(source, target, report)
    place = Path(file)
    _clear_drafts(place)
    draft = new_partial(place)
    draft_engine = create_engine(target.url.set(database=str(draft)))
    try:
        upgrade(draft_engine)
        copied = _copy(source, draft_engine, report)
        draft_engine.dispose()  # this also closes its write-ahead log
        draft.replace(place)
    finally:
        draft_engine.dispose()
        for ending in ("", "-wal", "-shm"):
            draft.with_name(draft.name + ending).unlink(missing_ok=True)
    return copied


def _clear_drafts(place: Path) -> None:
    """Remove the draft of a killed copy, and the draft's write-ahead log."""
    clear_partials(place)
    for log in place.parent.glob(f".{glob.escape(place.name)}.*.part-*"):
        if not log.with_name(log.name.rpartition("-")[0]).exists():
            log.unlink(missing_ok=True)


def require_empty(engine: Engine) -> None:
    """Refuse a database with content.

    Raises:
        HedgerowError: it has rows, or it is a SQLite file with tables.
    """
    where = shown_address(engine.url)
    path = Path(engine.url.database or "")
    if engine.name == "sqlite" and not path.parent.is_dir():
        raise HedgerowError(f"There is no folder {path.parent}; create it first.")
    if engine.name == "sqlite" and not path.exists():
        return
    with reading(engine) as session:
        existing = set(inspect(session.connection()).get_table_names())
        ours = [table for table in all_tables() if table.name in existing]
        is_filled = any(map(session.connection().scalar, (select(1).select_from(t) for t in ours)))
    if is_filled or (engine.name == "sqlite" and existing):
        raise HedgerowError(
            f"Expected an empty database, but {where} has content; choose another one."
        )


def _copy(source: Engine, target: Engine, report: Report) -> Copied:
    with reading(source) as reader, writing(target) as writer:
        rows = reader.connection()
        progress = _Progress(report, total=2 * count_rows(rows))
        read = {table.name: _copy_table(rows, writer, table, progress) for table in all_tables()}
        if target.name == "postgresql":
            _finish_postgresql(writer.connection())
        progress.activity = "Comparing"
        written = hash_tables(writer.connection(), progress.done)
        _require_equal(read, written)
    return Copied({name: found.rows for name, found in read.items()}, content_hash(read))


class _Progress:
    """Counts rows and reports after each batch."""

    def __init__(self, report: Report, *, total: int) -> None:
        self._report, self._total, self._rows = report, total, 0
        self.activity = "Copying"

    def done(self, table: str, rows: int) -> None:
        self._rows += rows
        self._report(self._rows, self._total, f"{self.activity} {table.replace('_', ' ')}.")


def _copy_table(
    source: Connection, target: Session, table: Table, progress: _Progress
) -> TableHash:
    found, encoded = TableHash(), encoder_of(table)
    names, self_references = list(table.columns.keys()), _self_references(table)
    later: list[tuple[str, int, int]] = []
    for rows in read_rows(source, table):
        found.add(map(encoded, rows))
        values = [dict(zip(names, row, strict=True)) for row in rows]
        for column in self_references:
            later += _postpone(values, column)
        _store(target, table, values)
        progress.done(table.name, len(rows))
    for column, key, value in later:
        target.execute(update(table).where(table.c.id == key).values({column: value}))
    return found


def _self_references(table: Table) -> list[str]:
    """The columns that reference another row of the same table."""
    return [
        column.name
        for column in table.columns
        if any(key.column.table is table for key in column.foreign_keys)
    ]


def _postpone(rows: list[dict[str, Any]], column: str) -> list[tuple[str, int, int]]:
    """Clear references to rows that follow; returns (column, id, value) to set later."""
    ahead = [row for row in rows if row[column] is not None and row[column] > row["id"]]
    later = [(column, row["id"], row[column]) for row in ahead]
    for row in ahead:
        row[column] = None
    return later


def _store(target: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    try:
        target.connection().execute(insert(table), rows)
    except DBAPIError as error:
        where = shown_address(target.get_bind().engine.url)
        raise HedgerowError(
            f"{where} refuses a row of the table {table.name} "
            f"({first_line(error.orig or error)}); nothing was copied. Run 'hedgerow db check' to "
            "check the project."
        ) from error


def _finish_postgresql(connection: Connection) -> None:
    """Set the sequences to the highest ids, and update the planner's statistics."""
    for table in all_tables():
        key = table.primary_key.columns.values()
        if len(key) == 1 and isinstance(key[0].type, Integer) and not key[0].foreign_keys:
            last = connection.scalar(select(func.max(key[0])))
            sequence = func.pg_get_serial_sequence(f'"{table.name}"', key[0].name)
            if last is not None:
                connection.execute(select(func.setval(sequence, last)))
        connection.exec_driver_sql(f'ANALYZE "{table.name}"')


def _require_equal(read: Hashes, written: Hashes) -> None:
    different = [name for name, found in read.items() if written[name] != found]
    if different:
        raise HedgerowError(
            f"The copy differs from the project in {', '.join(different)}; nothing was copied. "
            "Please report this as a bug."
        )


def same_place(one: Engine, other: Engine) -> bool:
    """Whether the two addresses are of the same database."""
    if one.name == other.name == "sqlite":
        return Path(one.url.database or "").resolve() == Path(other.url.database or "").resolve()
    parts = ("drivername", "host", "port", "database")
    return all(getattr(one.url, part) == getattr(other.url, part) for part in parts)


# -- Copy a project to a given database -----------------------------------------------------------


class Moved(NamedTuple):
    """The result of copying a project.

    Attributes:
        source, target: the addresses of the two databases, without passwords.
        rows: the number of rows by table.
        content_hash: the hash of both databases (see ``curation.upkeep.content_hash``).
        data_folder: the folder where models, exports and logs stay.
    """

    source: str
    target: str
    rows: dict[str, int]
    content_hash: str
    data_folder: str

    @property
    def rows_in_all(self) -> int:
        """The number of rows in all tables."""
        return sum(self.rows.values())

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return self._asdict()


def copy_project(engine: Engine, settings: Settings, url: str, *, report: Report) -> Moved:
    """Copy the project's database to an empty one.

    Args:
        url: the address of that database. A relative SQLite path starts at the project's working
            directory.

    Raises:
        HedgerowError: the address is invalid or the project's own, a run is at work, or as in
            ``copy_database``. Nothing is copied.
    """
    require(TeamRole.LEAD)
    target = create_engine(_address(settings, url).url)
    try:
        if same_place(engine, target):
            raise HedgerowError("This is the project's own database; choose another one.")
        with reading(engine) as session:
            for run in under_way(session):
                if run.state == RunState.RUNNING:
                    raise HedgerowError(
                        f"Run {run.id} is running, and its results would not be copied; wait for "
                        f"it to finish, or cancel it with 'hedgerow runs cancel {run.id}'."
                    )
        copied = copy_database(engine, target, report=report)
    finally:
        target.dispose()
    return Moved(
        source=shown_address(engine.url),
        target=shown_address(target.url),
        rows=copied.rows,
        content_hash=copied.content_hash,
        data_folder=str(settings.data_folder),
    )


def _address(settings: Settings, url: str) -> Settings:
    """The settings with this database. An invalid address is not quoted: it may hold a password."""
    try:
        is_usable = make_url(url).get_backend_name() in ("sqlite", "postgresql")
    except ArgumentError:
        is_usable = False
    if not is_usable:
        raise HedgerowError(
            "Expected the address of a database, such as postgresql://host/name or "
            "sqlite:////folder/hedgerow.db."
        )
    return settings.model_copy(update={"database_url": url})
