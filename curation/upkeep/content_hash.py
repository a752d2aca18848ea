"""A hash of all content of a database, equal on SQLite and PostgreSQL.

The two databases sort texts and store JSON and times differently. So each row is hashed as Python
reads it, and a table's hash is the sum of its rows' hashes. The order of rows does not matter, and
only a batch of rows is in memory.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Connection, Row, Table, func, select
from sqlmodel import SQLModel

import db.models  # noqa: F401 (registers the tables)

BATCH = 2_000
"""Rows in memory at a time."""

_MODULUS = 2**256
_EXACT = 2**53
"""Up to this limit, every integer is exactly representable as a float."""


def all_tables() -> list[Table]:
    """All tables of the project, each after the tables that it references."""
    return list(SQLModel.metadata.sorted_tables)


@dataclass
class TableHash:
    """The hash of a table.

    Attributes:
        rows: the number of rows.
        total: the sum of the rows' SHA-256 hashes, modulo 2**256.
    """

    rows: int = 0
    total: int = 0

    def add(self, encoded: Iterable[bytes]) -> None:
        """Add rows."""
        for row in encoded:
            self.total += int.from_bytes(hashlib.sha256(row).digest())
            self.rows += 1
        self.total %= _MODULUS


Hashes = dict[str, TableHash]
"""The hashes by table name."""


def content_hash(hashes: Hashes) -> str:
    """SHA-256, in hexadecimal, of the names, row counts and hashes of all tables."""
    lines = [f"{name} {found.rows} {found.total:064x}\n" for name, found in sorted(hashes.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def encoder_of(table: Table) -> Callable[[Sequence[Any]], bytes]:
    """A function that encodes a row of the table as bytes for hashing."""
    json_columns = [n for n, column in enumerate(table.columns) if isinstance(column.type, JSON)]

    def encoded(row: Sequence[Any]) -> bytes:
        values = list(row)
        for n in json_columns:
            values[n] = _plain(values[n])
        return json.dumps(values, sort_keys=True, default=_moment).encode()

    return encoded


def _moment(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"no column holds {type(value).__name__}")
    return value.isoformat()


def _plain(value: Any) -> Any:
    """A JSON value with one form per number: JSONB expands 1e22, and has no -0.0."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value) if value.bit_length() > 1023 else float(value)
    return value


def read_rows(connection: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    """The table's rows in batches, in order of the primary key."""
    query = select(table).order_by(*table.primary_key.columns)
    with connection.execute(query, execution_options={"yield_per": BATCH}) as result:
        yield from result.partitions()


def count_rows(connection: Connection) -> int:
    """The number of rows in all tables."""
    return sum(
        connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in all_tables()
    )


def hash_tables(connection: Connection, done: Callable[[str, int], None]) -> Hashes:
    """The hash of every table.

    Args:
        done: called after each batch with the table's name and the number of rows.
    """
    hashes: Hashes = {}
    for table in all_tables():
        found, encoded = hashes.setdefault(table.name, TableHash()), encoder_of(table)
        for rows in read_rows(connection, table):
            found.add(map(encoded, rows))
            done(table.name, len(rows))
    return hashes
