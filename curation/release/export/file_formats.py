"""One table of an export as one file: Parquet, JSON Lines or CSV, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.formatting import tokens
from curation.release.export.table_rows import MESSAGES, TABLES, TEXTS, StoredTable, TableColumn
from curation.tables.safe_csv import csv_lines
from db.errors import HedgerowError

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


TABLE_FILES: dict[str, StoredTable] = {
    "triples.jsonl": "triples",
    "variants.jsonl": "variants",
    "pairs.csv": "pairs",
}
"""Maps the names of the files with an export's tables to the tables."""

CHUNK = 1 << 16
"""About this many characters are sent at a time. Rows are never split."""


def table_bytes(name: str, rows: Iterable[Record]) -> Iterator[bytes]:
    """Yield the contents of one of ``TABLE_FILES``, byte for byte as in an export."""
    columns = TABLES[TABLE_FILES[name]]
    if name.endswith(".csv"):
        lines = csv_lines([column.name for column in columns], rows)
    else:
        lines = jsonl_lines(columns, rows)
    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= CHUNK:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    yield "".join(waiting).encode()


# -- Question pairs as files for finetuning programs, and a check of OpenAI's format --------------


LEAST = 10
"""Minimum number of examples in a training file for OpenAI's finetuning."""

ROLES = frozenset({"system", "user", "assistant"})


class FinetuningFile(NamedTuple):
    """The contents of a file in OpenAI's finetuning format.

    Attributes:
        tokens: approximate total of all messages; training is billed for them once per epoch.
    """

    examples: int
    tokens: int


def write_both(
    folder: Path, split: str, columns: Sequence[TableColumn], rows: Iterator[Record]
) -> None:
    """Write rows as JSON Lines and as Parquet in one pass."""
    with (folder / f"{split}.jsonl").open("w", encoding="utf-8", newline="\n") as file:

        def passed_on() -> Iterator[Record]:
            for row in rows:
                file.writelines(jsonl_lines(columns, [row]))
                yield row

        write_parquet(folder / f"{split}.parquet", columns, passed_on())


def check_finetuning_file(path: Path, *, least: int = 1) -> FinetuningFile:
    """Read a file in OpenAI's finetuning format, and refuse it if the service would.

    Args:
        least: minimum number of examples.

    Raises:
        HedgerowError: it has too few examples, or a line that is not a chat ending with an answer.
    """
    examples, letters = 0, 0
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            letters += _letters(line, f"Line {number} of {path.name}")
            examples += 1
    if examples < least:
        raise HedgerowError(
            f"Expected at least {least} question pairs for training, as OpenAI requires, found "
            f"{examples}; accept more variants and create a new release."
        )
    return FinetuningFile(examples, tokens(letters))


def _letters(line: str, place: str) -> int:
    """Count the characters in all messages of an example."""
    try:
        example = json.loads(line)
    except ValueError:
        example = None
    chat = example.get("messages") if isinstance(example, dict) and len(example) == 1 else None
    if not isinstance(chat, list) or len(chat) < 2 or not all(_is_message(one) for one in chat):
        raise HedgerowError(
            f"{place} is not a chat: expected only 'messages', at least two, each with a role "
            f"({', '.join(sorted(ROLES))}) and content that is not empty."
        )
    if chat[-1]["role"] != "assistant":
        raise HedgerowError(f"{place} ends without an answer; the last message must be the answer.")
    return sum(len(one["content"]) for one in chat)


def _is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"role", "content"}
        and value["role"] in ROLES
        and isinstance(value["content"], str)
        and bool(value["content"].strip())
    )
