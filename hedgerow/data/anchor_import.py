"""Adding anchors from texts, tables and files."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.anchors.importing.decoding import MAX_BYTES
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.formats import read_file
from curation.anchors.importing.insert import (
    About,
    Added,
    Earlier,
    PairedTexts,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchors.importing.nli_texts import Originals, guess_columns, read_originals
from curation.anchors.importing.preview import Fate, FileRow, Preview, preview
from curation.plurals import counted
from db.engine import reading, writing
from db.errors import HedgerowError
from hedgerow.asked import readable
from hedgerow.home import Home, asked_by

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Texts = Any
"""Sources of anchors: a list of sentences, a pandas DataFrame, a `datasets.Dataset`, or the path of
a CSV, TSV, JSON Lines, Parquet or text file."""


@dataclass(frozen=True)
class AnchorImport:
    """The result of adding anchors, or the preview of a dry run.

    Attributes:
        table: the table that was read.
        preview: every row of the table, and whether it is added.
        rows: the rows that are added.
        added: the number of anchors and other texts that were stored; 0 for a dry run.
        originals: the entailments and contradictions in the same rows.
        earlier: the earlier import of the same file, if any.
        column: the column with the sentences.
        about: the source, licence, genre and language.
        dry_run: whether this is only a preview.
    """

    table: FileTable
    preview: Preview
    rows: list[FileRow]
    added: Added
    originals: Originals
    earlier: Earlier | None
    column: str
    about: About
    dry_run: bool

    @property
    def count(self) -> int:
        """The number of added anchors."""
        return self.added.added

    @cached_property
    def texts_alongside(self) -> Counter[str]:
        """Variant type → number of entailments or contradictions that are added."""
        return Counter(text.type_id for text in self.originals.of(self.rows))

    def left_out(self) -> pd.DataFrame:
        """The rows that are not added: line, text, fate, and why, one row each."""
        import pandas as pd

        taken = {row.line for row in self.rows}
        rows = [
            (row.line, row.text, row.fate.value, " ".join(f.sentence for f in row.findings))
            for row in self.preview.rows
            if row.line not in taken
        ]
        return pd.DataFrame(rows, columns=["line", "text", "fate", "why"])

    def __repr__(self) -> str:
        verb = "Would add" if self.dry_run else "Added"
        parts = (
            f"{verb} {counted(len(self.rows), 'anchor')} of {counted(len(self.table.lines), 'row')}"
        )
        fates = self.preview.fates
        others = [f"{fates[fate]:,} {fate.value}" for fate in Fate if fate is not Fate.NEW]
        return f"<{parts}; {', '.join(others)}>"


def add_file(
    home: Home,
    data: bytes,
    *,
    name: str,
    about: About,
    column: str | None,
    genre_column: str | None,
    originals: Mapping[str, str | None],
    accept_originals: bool,
    include_suspicious: bool,
    sample: int | None,
    seed: int,
    format: Format | None,
    dry_run: bool,
) -> AnchorImport:
    """See `Anchors.add` of `hedgerow.data.anchors`. Reads the bytes of a file.

    Args:
        originals: variant type → the column with its texts; None to guess it, '' for none.
    """
    table = read_file(data, name=name, format=format)
    column = column or table.sentence_column()
    with reading(home.engine) as session:  # other users can write in the meantime
        previewed = preview(
            session, table, column=column, genre_column=genre_column, language=about.language
        )
        before = earlier_import(session, previewed.content_hash)
        check_source(session, about)
        guessed = guess_columns(table, column)
        named = {
            type_id: guessed.get(type_id, "") if given is None else given
            for type_id, given in originals.items()
        }
        paired = read_originals(
            session,
            table,
            previewed,
            sentence=column,
            source=about.source,
            language=about.language,
            columns={type_id: given for type_id, given in named.items() if given},
        )
    rows = previewed.chosen(include_suspicious=include_suspicious, sample=sample, seed=seed)
    added = Added(0)
    if (rows or paired.of(rows)) and not dry_run:
        with writing(home.engine) as session:
            added = add_anchors(
                session,
                previewed,
                rows,
                about=about,
                file=name,
                paired=PairedTexts(paired, accept_originals) if paired.columns else None,
                parameters={
                    "column": column,
                    "genre_column": genre_column,
                    "sample": sample,
                    "seed": seed,
                    "include_suspicious": include_suspicious,
                },
                author_id=asked_by(session, home.settings),
            )
    return AnchorImport(table, previewed, rows, added, paired, before, column, about, dry_run)


def bytes_of(texts: Texts) -> tuple[bytes, str, str]:
    """The texts as the bytes of a file, their name for messages, and the name of their source."""
    if isinstance(texts, str | Path):
        path = Path(texts)
        if isinstance(texts, str) and not path.suffix and not path.exists():
            raise HedgerowError(
                f"Expected a file or a list of sentences, found the text {texts[:60]!r}; put a "
                "single sentence in a list."
            )
        with readable(path), path.open("rb") as opened:
            return opened.read(MAX_BYTES + 1), path.name, path.stem
    table, name = _arrow(texts)
    from pyarrow import parquet

    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue(), name, "python"


def _arrow(texts: Texts) -> tuple[pa.Table, str]:
    """The texts as a table, and their name for messages."""
    import pyarrow as pa

    if hasattr(texts, "to_parquet") and hasattr(texts, "columns"):
        return pa.Table.from_pandas(texts, preserve_index=False), "the data frame"
    if hasattr(texts, "with_format") and hasattr(texts, "column_names"):
        if not isinstance(texts.column_names, list):
            raise HedgerowError(
                f"Expected one split of a data set, found {', '.join(texts.column_names)}; "
                "choose one split."
            )
        return texts.with_format("arrow")[:], "the data set"
    if not isinstance(texts, Iterable):
        raise HedgerowError(
            f"Expected sentences, a data frame, a data set or a file, found {type(texts).__name__}."
        )
    found = list(texts)
    odd = next((text for text in found if not isinstance(text, str)), None)
    if odd is not None:
        raise HedgerowError(f"Expected a list of strings, found {type(odd).__name__} in it.")
    return pa.table({"text": pa.array(found, pa.string())}), "the list"
