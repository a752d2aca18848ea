"""One table of an export as one file: Parquet, JSON Lines or CSV, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.release.export.table_rows import MESSAGES, TEXTS, TableColumn
from curation.tables.spreadsheets import csv_lines

if TYPE_CHECKING:
    from datasets import Features

Record = tuple[Any, ...]
"""The values of one row, in the order of the columns."""

ROW_GROUP = 10_000
"""Rows in a Parquet row group, which is in memory at once."""


def features_of(columns: Sequence[TableColumn]) -> Features:
    """Return the columns as `datasets` describes them."""
    from datasets import Features, List, Value  # noqa: PLC0415

    text = Value("string")
    lists = {TEXTS: List(text), MESSAGES: List({"role": text, "content": text})}
    return Features(
        {column.name: lists.get(column.dtype) or Value(column.dtype) for column in columns}
    )


def write_parquet(path: Path, columns: Sequence[TableColumn], rows: Iterator[Record]) -> None:
    # These two take over a second to import, and only this function needs them.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    # The schema of Features has the column types that load_dataset reads.
    schema = features_of(columns).arrow_schema
    with pq.ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, ROW_GROUP)):
            values = zip(*batch, strict=True)
            arrays = [pa.array(v, type=f.type) for v, f in zip(values, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def write_jsonl(path: Path, columns: Sequence[TableColumn], rows: Iterator[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(jsonl_lines(columns, rows))


def jsonl_lines(columns: Sequence[TableColumn], rows: Iterable[Record]) -> Iterator[str]:
    """Yield the rows as JSON, one per line."""
    names = [column.name for column in columns]
    for row in rows:
        yield json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n"


def write_csv(path: Path, columns: Sequence[TableColumn], rows: Iterator[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines([column.name for column in columns], rows))
