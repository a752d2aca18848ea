"""Read Parquet files in a child process.

pyarrow ends its whole process on some damaged files, with an exception that Python cannot catch. So
a child with limited time and memory writes the rows as JSON Lines, and this process reads those.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from db.errors import HedgerowError

SECONDS = 300
"""Maximum time for one file."""

MEMORY = 8 << 30
"""Maximum address space of the child in bytes. pyarrow reserves some without using it."""

MAX_UNPACKED = 2 << 30
"""Maximum unpacked size in bytes."""

_TOO_LARGE = 3
"""The child's exit status for a file that exceeds ``MAX_UNPACKED``."""

BATCH = 1_000
"""Rows to unpack at a time."""


def read(file: BinaryIO, name: str) -> tuple[tuple[str, ...], Callable[[], Iterator[list[Any]]]]:
    """The columns, and what reads the rows: lists of JSON values, with dates and the like as text.

    Raises:
        HedgerowError: the file is damaged or too large.
    """
    handle, path = tempfile.mkstemp(prefix="hedgerow-", suffix=".jsonl")
    written = Path(path)
    try:
        with open(handle, "wb") as sink:
            status = _converted(file, sink)
        if status == _TOO_LARGE:
            raise HedgerowError(
                f"Expected at most {MAX_UNPACKED >> 20:,} MB of unpacked values in {name}, found "
                "more; split it and import the parts one after another."
            )
        if status:
            raise HedgerowError(
                f"{name} is a Parquet file that cannot be read because it is truncated or damaged; "
                "copy or write it again."
            )
        with written.open(encoding="utf-8") as first:
            columns = tuple(json.loads(first.readline()))
    except BaseException:
        written.unlink()
        raise

    def rows() -> Iterator[list[Any]]:
        with written.open(encoding="utf-8") as lines:
            lines.readline()
            yield from map(json.loads, lines)

    weakref.finalize(rows, written.unlink, missing_ok=True)
    return columns, rows


def _converted(file: BinaryIO, written: IO[bytes]) -> int:
    """Let the child write the file's rows; return its exit status."""
    with tempfile.TemporaryFile() as copied:
        file.seek(0)
        shutil.copyfileobj(file, copied)
        copied.seek(0)
        command = [sys.executable, "-P", "-m", "curation.tables.parquet"]
        limits: dict[str, Any] = {"stderr": subprocess.DEVNULL, "timeout": SECONDS}
        try:
            return subprocess.run(command, stdin=copied, stdout=written, **limits).returncode
        except subprocess.TimeoutExpired:
            return -1


def _main() -> int:
    """In the child: write the columns, then the values of each row, as JSON Lines."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MAX_UNPACKED, 2 * MAX_UNPACKED))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow import types  # noqa: PLC0415

    file = pq.ParquetFile(sys.stdin.buffer)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > MAX_UNPACKED:
        return _TOO_LARGE
    schema = file.schema_arrow
    floats = [number for number, kind in enumerate(schema.types) if types.is_floating(kind)]
    write = sys.stdout.write
    write(json.dumps(schema.names) + "\n")
    for batch in file.iter_batches(batch_size=BATCH):
        columns = [column.to_pylist() for column in batch.columns]
        for number in floats:  # pandas writes missing numbers as NaN
            columns[number] = [value if value == value else None for value in columns[number]]
        for row in zip(*columns, strict=True):
            write(json.dumps(row, ensure_ascii=False, default=_plain) + "\n")
    return 0


def _plain(value: object) -> str | None:
    """A date, number or the like as text; bytes, such as images, as missing."""
    return None if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(_main())
