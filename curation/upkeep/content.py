"""One hash for all that a database holds, the same on SQLite and PostgreSQL.

The two sort texts and store JSON and moments differently. So a row is hashed as Python reads it,
and a table's hash is the sum of its rows' hashes: their order does not matter, and no more than a
batch of rows is in memory.
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
"""Up to here, a whole number is the same as a float of the same value."""


def all_tables() -> list[Table]:
    """Every table of the project, each after those that its rows refer to."""
    return list(SQLModel.metadata.sorted_tables)


@dataclass
class TableHash:
    """The rows of a table, summed up.

    Attributes:
        rows: how many there are.
        total: the sum of their SHA-256 hashes, modulo 2**256.
    """

    rows: int = 0
    total: int = 0

    def add(self, encoded: Iterable[bytes]) -> None:
        """Count these rows, too."""
        for row in encoded:
            self.total += int.from_bytes(hashlib.sha256(row).digest())
            self.rows += 1
        self.total %= _MODULUS


Hashes = dict[str, TableHash]
"""By the table's name."""


def content_hash(hashes: Hashes) -> str:
    """SHA-256, in hexadecimal, of the names, row counts and hashes of all tables."""
    lines = [f"{name} {found.rows} {found.total:064x}\n" for name, found in sorted(hashes.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def encoder_of(table: Table) -> Callable[[Sequence[Any]], bytes]:
    """What turns a row of the table into the bytes that are hashed."""
    places = [at for at, column in enumerate(table.columns) if isinstance(column.type, JSON)]

    def encoded(row: Sequence[Any]) -> bytes:
        values = list(row)
        for at in places:
            values[at] = _plain(values[at])
        return json.dumps(values, sort_keys=True, default=_moment).encode()

    return encoded


def _moment(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"no column holds {type(value).__name__}")
    return value.isoformat()


def _plain(value: Any) -> Any:
    """A JSON value with one spelling for each number: JSONB writes 1e22 out, and knows no -0.0."""
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
    """The table's rows in the order of its key, some at a time."""
    query = select(table).order_by(*table.primary_key.columns)
    with connection.execute(query, execution_options={"yield_per": BATCH}) as result:
        yield from result.partitions()


def count_rows(connection: Connection) -> int:
    """The rows of all tables."""
    return sum(
        connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in all_tables()
    )


def hash_tables(connection: Connection, done: Callable[[str, int], None]) -> Hashes:
    """The hash of every table.

    Args:
        done: is told of each batch: the table's name and the number of rows.
    """
    hashes: Hashes = {}
    for table in all_tables():
        found, encoded = hashes.setdefault(table.name, TableHash()), encoder_of(table)
        for rows in read_rows(connection, table):
            found.add(map(encoded, rows))
            done(table.name, len(rows))
    return hashes
