"""Reads the rows of Parquet files batch by batch."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from db.errors import HedgerowError

BATCH = 1_000
"""Rows to unpack at a time."""


def read(file: BinaryIO, name: str) -> tuple[tuple[str, ...], Iterator[tuple[int, dict[str, Any]]]]:
    """Return the columns, and each row with its number.

    Raises:
        HedgerowError: the file is damaged or truncated.
    """
    # Takes a second to import, and only this function needs it.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        opened = pq.ParquetFile(file)
        columns = tuple(opened.schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError):
        raise HedgerowError(_damaged(name)) from None
    return columns, _rows(opened, name)


def _rows(opened: Any, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa  # noqa: PLC0415

    number = 0
    try:
        for batch in opened.iter_batches(batch_size=BATCH):
            for cells in batch.to_pylist():
                number += 1
                yield number, cells
    except (pa.ArrowException, OSError, ValueError):
        raise HedgerowError(_damaged(name)) from None


def _damaged(name: str) -> str:
    return (
        f"{name} is a Parquet file that cannot be read because it is truncated or damaged; copy "
        "or write it again."
    )
