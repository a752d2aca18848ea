"""Streams a release as it is read: one of its tables, or an export as a zip file.

A reader may be slow or disconnect at any time. Neither blocks the database or leaves a file behind.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from sqlalchemy.orm import Session

from curation.release.export.export_formats import Progress
from curation.release.export.file_formats import Record, jsonl_lines
from curation.release.export.release_folder import (
    explained,
    export_name,
    export_release,
    zip_export,
)
from curation.release.export.table_rows import TABLES, StoredTable
from curation.release.overlap_results import OverlapWithTest
from curation.tables.spreadsheets import csv_lines
from db.models import Release

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


def zipped(
    session: Session,
    release: Release,
    format: str,
    *,
    compared: Sequence[OverlapWithTest],
    progress: Progress | None = None,
) -> BinaryIO:
    """Return an export as an open, unnamed zip file that is deleted when closed.

    Args:
        compared, progress: as for ``export_release``.

    Raises:
        HedgerowError: there is not enough disk space.
    """
    with (
        explained(Path(tempfile.gettempdir())),
        tempfile.TemporaryDirectory(prefix="hedgerow-") as scratch,
    ):
        folder = Path(scratch) / export_name(release, format)
        export_release(
            session, release, folder, format=format, compared=compared, progress=progress
        )
        return zip_export(folder).open("rb")
