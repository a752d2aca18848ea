"""JSON Lines, Parquet and plain text files of anchors."""

from collections.abc import Iterator
from typing import Any

from curation.anchors.importing.file_table import (
    FileTable,
    Format,
    check_columns,
    check_rows,
    listed,
    quoted,
)
from curation.strict_json import JsonError, RepeatedKey, read_json
from db.errors import HedgerowError

_KINDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_MAX_UNPACKED = 512 * 1024 * 1024
"""Maximum unpacked size in bytes of the string columns of a Parquet file."""


def read_text(text: str, *, name: str) -> FileTable:
    """Read one sentence per line; blank lines are skipped.

    Raises:
        HedgerowError: there is no sentence.
    """
    numbered = [(number, line) for number, line in _lines(text) if line.strip()]
    if not numbered:
        raise HedgerowError(f"{name} contains only blank lines; put one anchor on each line.")
    check_rows(len(numbered), name=name)
    lines, values = zip(*numbered, strict=True)
    return FileTable(name, Format.TEXT, ("text",), lines, {"text": values})


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; only line feeds and carriage returns end a line."""
    return enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1)


def read_jsonl(text: str, *, name: str) -> FileTable:
    """Read one object per line; keys that contain only strings become columns.

    Raises:
        HedgerowError: a line is not a JSON object, or there are no lines or no keys with strings.
    """
    if text.lstrip()[:1] == "[":
        raise HedgerowError(
            f"Expected one JSON object per line, but {name} is a list; write it as JSON Lines "
            "(pandas: to_json(orient='records', lines=True))."
        )
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in _lines(text):
        if line and not line.isspace():
            records.append(_record(line, f"line {number:,} of {name}"))
            lines.append(number)
    if not records:
        raise HedgerowError(f"{name} contains only blank lines; put one object on each line.")
    check_rows(len(records), name=name)
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    check_columns(columns, where=name)
    refused = _not_strings(records, lines, name)
    cells = {key: [r.get(key) for r in records] for key in columns if key not in refused}
    table = FileTable(name, Format.JSONL, columns, lines, cells, refused=refused)
    _check_any_text(table)
    return table


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = read_json(line)
    except RepeatedKey as error:
        raise HedgerowError(
            f"Expected every key once, found {quoted(error.key)} twice on {where}; rename one."
        ) from None
    except JsonError as error:
        raise HedgerowError(
            f"Expected one JSON object on {where}, found invalid JSON ({error}); put one object "
            "on each line."
        ) from None
    if not isinstance(record, dict):
        kind = "a string" if isinstance(record, str) else _KINDS.get(type(record), "null")
        raise HedgerowError(
            f'Expected one JSON object on {where}, found {kind}; write {{"text": "…"}}.'
        )
    return record


def _not_strings(records: list[dict[str, Any]], lines: list[int], name: str) -> dict[str, str]:
    """The keys with a value that is not a string, and the first such line."""
    refused: dict[str, str] = {}
    for record, line in zip(records, lines, strict=True):
        for key, value in record.items():
            if not (type(value) is str or value is None or key in refused):
                refused[key] = (
                    f"Expected a string in {quoted(key)}, found {_KINDS[type(value)]} on line "
                    f"{line:,} of {name}; choose a column of strings."
                )
    return refused


def _check_any_text(table: FileTable) -> None:
    if not table.text_columns:
        reason = next(iter(table.refused.values()), f"{table.name} has no columns.")
        raise HedgerowError(reason if len(table.columns) < 2 else _none_of(table))


def _none_of(table: FileTable) -> str:
    return (
        f"Expected a column of strings in {table.name}, found none in {listed(table.columns)}; "
        "choose a file with one anchor per row."
    )


def read_parquet(data: bytes, *, name: str) -> FileTable:
    """The rows of a Parquet file; only string columns can contain sentences.

    Raises:
        HedgerowError: a damaged or truncated file, no rows, no column of strings.
    """
    # The import takes a second, and only this function needs it.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        schema = file.schema_arrow
        refused = {
            field.name: _no_strings(field, name) for field in schema if not _is_string(field.type)
        }
        texts = [column for column in schema.names if column not in refused]
        check_columns(schema.names, where=name)
        check_rows(file.metadata.num_rows, name=name)
        _check_unpacked(file.metadata, set(texts), name)
        cells = _cells(file, texts)
    except (pa.ArrowException, OSError, ValueError):
        raise HedgerowError(
            f"{name} is a Parquet file that cannot be read because it is truncated or damaged; "
            "copy or write it again."
        ) from None
    if not file.metadata.num_rows:
        raise HedgerowError(
            f"{name} has columns but no rows; choose a file with one anchor per row."
        )
    lines = range(1, file.metadata.num_rows + 1)
    table = FileTable(name, Format.PARQUET, tuple(schema.names), lines, cells, refused=refused)
    _check_any_text(table)
    return table


def _is_string(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_dictionary(kind):
        kind = kind.value_type
    return kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)


def _no_strings(field: Any, name: str) -> str:
    held = "nested values" if field.type.num_fields else f"values of type {field.type}"
    return (
        f"Expected strings in {quoted(field.name)}, but in {name} it contains {held}; choose a "
        "column of strings."
    )


def _check_unpacked(metadata: Any, columns: set[str], name: str) -> None:
    size = 0
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            column = row_group.column(index)
            size += column.total_uncompressed_size if column.path_in_schema in columns else 0
    if size > _MAX_UNPACKED:
        raise HedgerowError(
            f"Expected at most {_MAX_UNPACKED >> 20} MB of text, found {size >> 20:,} MB in "
            f"{name}; split it and add the parts one after another."
        )


def _cells(file: Any, columns: list[str]) -> dict[str, list[str | None]]:
    table = file.read(columns=columns)
    return {column: table.column(column).to_pylist() for column in columns}
