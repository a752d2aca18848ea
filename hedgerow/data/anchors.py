"""Anchors: added from texts, tables and files, listed as a table."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.anchors.changes import get_anchor, restore_anchors, retire_anchors
from curation.anchors.importing.decoding import MAX_BYTES
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.formats import read_file
from curation.anchors.importing.insert import (
    MAX_SOURCE,
    About,
    Added,
    Beside,
    Earlier,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchors.importing.nli_texts import Originals, guess_columns, read_originals
from curation.anchors.importing.preview import Fate, FileRow, Preview, preview
from curation.anchors.lookup import AnchorFilter, find_anchors, source_named
from curation.plurals import counted
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT
from db.engine import reading, writing
from db.errors import HedgerowError
from hedgerow.asked import readable, split_of
from hedgerow.home import Home, asked_by

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Texts = Any
"""What anchors are added from: a list of sentences, a pandas DataFrame, a `datasets.Dataset`, or
the path of a CSV, TSV, JSON lines, Parquet or text file."""

ALL = 2**31 - 1
"""More anchors than any project has."""


@dataclass(frozen=True)
class AnchorImport:
    """What adding anchors did, or would do.

    Attributes:
        table: what was read.
        preview: each row, and what becomes of it.
        rows: those that are added.
        added: what was written.
        originals: the entailments and contradictions in the same rows.
        earlier: the same file, where it was added before.
        column: with the sentences.
        about: source, licence, genre, language.
        dry_run: nothing was written.
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
        """Anchors that were added."""
        return self.added.added

    @cached_property
    def texts_beside(self) -> Counter[str]:
        """Type → how many entailments or contradictions are added, or would be."""
        return Counter(text.type_id for text in self.originals.of(self.rows))

    def left_out(self) -> pd.DataFrame:
        """The rows that were not added: line, text, fate, why."""
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
        said = (
            f"{verb} {counted(len(self.rows), 'anchor')} of {counted(len(self.table.lines), 'row')}"
        )
        fates = self.preview.fates
        others = [f"{fates[fate]:,} {fate.value}" for fate in Fate if fate is not Fate.NEW]
        return f"<{said}; {', '.join(others)}>"


class Anchors:
    """The anchors of a project: called, it lists them."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def __call__(
        self,
        *,
        search: str = "",
        source: str = "",
        genre: str = "",
        split: str | None = None,
        retired: bool = False,
        without_variants: bool = False,
    ) -> pd.DataFrame:
        """Anchors in use, or retired ones, in the order in which they were added.

        Args:
            search: part of the text, or a uid.
            split: train, validation or test.
            without_variants: only those that nothing was written for.

        Returns:
            A row an anchor: uid, text, source, genre, language, split, variants (how many).

        Raises:
            HedgerowError: there is no such source or split.

        >>> project = example_project()
        >>> list(project.anchors(search="bridge")["text"])
        ['The bridge is safe.']
        """
        import pandas as pd

        wanted = AnchorFilter(
            text=search,
            source=source,
            genre=genre,
            split=split_of(split),
            retired=retired,
            without_variants=without_variants,
        )
        with reading(self._home.engine) as session:
            if source:
                source_named(session, source)
            found = find_anchors(session, wanted, limit=ALL, offset=0).anchors
        rows = [
            (a.uid, a.text, a.source, a.genre, a.language, a.split.value, a.variants) for a in found
        ]
        columns = ["uid", "text", "source", "genre", "language", "split", "variants"]
        return pd.DataFrame(rows, columns=columns)

    def add(
        self,
        texts: Texts,
        *,
        source: str = "",
        licence: str | None = None,
        genre: str = "",
        language: str = "en",
        column: str | None = None,
        genre_column: str | None = None,
        entailment: str | None = None,
        contradiction: str | None = None,
        accept_originals: bool = False,
        include_suspicious: bool = False,
        sample: int | None = None,
        seed: int = 0,
        format: str | None = None,
        dry_run: bool = False,
    ) -> AnchorImport:
        """Add sentences as anchors, all or none; duplicates are passed over.

        Args:
            texts: a list of sentences, a DataFrame, a `datasets.Dataset`, or a file's path.
            source: where they come from; otherwise the file's name, or 'python'.
            licence: of the source, such as 'CC BY 4.0'.
            genre, language: of rows that name none of their own; a tag such as 'de-CH'.
            column, genre_column: with the sentences (otherwise guessed) and with genres.
            entailment, contradiction: columns with the originals of an NLI data set (guessed; ''
                for none); `accept_originals` accepts both as the data set labels them.
            include_suspicious: add those, too, that look negated, hedged or unfinished.
            sample: add so many only, with the lengths and genres of all of them, drawn by `seed`.
            format: how to read a file: csv, tsv, jsonl, parquet, text; otherwise guessed.
            dry_run: write nothing.

        Raises:
            HedgerowError: no table of texts, no such column, or another licence than before.

        >>> project = example_project()
        >>> project.anchors.add(["The lamp is bright.", "The bridge is safe."]).count
        1
        """
        data, name, own = _bytes_of(texts)
        about = About(
            source=source or own[:MAX_SOURCE], licence=licence, genre=genre, language=language
        )
        return add_file(
            self._home,
            data,
            name=name,
            about=about,
            column=column,
            genre_column=genre_column,
            originals={ENTAILMENT: entailment, CONTRADICTION: contradiction},
            accept_originals=accept_originals,
            include_suspicious=include_suspicious,
            sample=sample,
            seed=seed,
            format=Format(format) if format else None,
            dry_run=dry_run,
        )

    def retire(self, *uids: str) -> None:
        """Take anchors and their variants out of use; decisions and earlier releases stay.

        Raises:
            HedgerowError: there is no anchor with one of these uids; none is retired then.

        >>> project = example_project()
        >>> project.anchors.retire(project.anchors()["uid"].iloc[0])
        >>> len(project.variants())
        0
        """
        with writing(self._home.engine) as session:
            retire_anchors(session, [get_anchor(session, uid).id for uid in uids])

    def restore(self, *uids: str) -> None:
        """Take retired anchors and their variants into use again, as they were.

        Raises:
            HedgerowError: there is no anchor with one of these uids; none is restored then.

        >>> project = example_project()
        >>> uid = project.anchors()["uid"].iloc[0]
        >>> project.anchors.retire(uid)
        >>> project.anchors.restore(uid)
        >>> len(project.variants())
        3
        """
        with writing(self._home.engine) as session:
            restore_anchors(session, [get_anchor(session, uid).id for uid in uids])

    def __repr__(self) -> str:
        return "<Anchors: call it to list them, .add() adds some>"


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
    """As `Anchors.add`, from the bytes of a file.

    Args:
        originals: type → the column of its texts; None where it is guessed, '' for none.
    """
    table = read_file(data, name=name, format=format)
    column = column or table.sentence_column()
    with reading(home.engine) as session:  # the others can go on writing meanwhile
        looked = preview(
            session, table, column=column, genre_column=genre_column, language=about.language
        )
        before = earlier_import(session, looked.content_hash)
        check_source(session, about)
        guessed = guess_columns(table, column)
        named = {
            type_id: guessed.get(type_id, "") if given is None else given
            for type_id, given in originals.items()
        }
        beside = read_originals(
            session,
            table,
            looked,
            sentence=column,
            source=about.source,
            language=about.language,
            columns={type_id: given for type_id, given in named.items() if given},
        )
    rows = looked.chosen(include_suspicious=include_suspicious, sample=sample, seed=seed)
    added = Added(0)
    if (rows or beside.of(rows)) and not dry_run:
        with writing(home.engine) as session:
            added = add_anchors(
                session,
                looked,
                rows,
                about=about,
                file=name,
                beside=Beside(beside, accept_originals) if beside.columns else None,
                parameters={
                    "column": column,
                    "genre_column": genre_column,
                    "sample": sample,
                    "seed": seed,
                    "include_suspicious": include_suspicious,
                },
                author_id=asked_by(session, home.settings),
            )
    return AnchorImport(table, looked, rows, added, beside, before, column, about, dry_run)


def _bytes_of(texts: Texts) -> tuple[bytes, str, str]:
    """What is added, as the bytes of a file; its name in messages; the name of its source."""
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
    """A table of texts, and what messages call it."""
    import pyarrow as pa

    if hasattr(texts, "to_parquet") and hasattr(texts, "columns"):
        return pa.Table.from_pandas(texts, preserve_index=False), "the data frame"
    if hasattr(texts, "with_format") and hasattr(texts, "column_names"):
        if not isinstance(texts.column_names, list):
            raise HedgerowError(
                f"Expected one split of a data set, found {', '.join(texts.column_names)}; "
                "choose one of them."
            )
        return texts.with_format("arrow")[:], "the data set"
    if not isinstance(texts, Iterable):
        raise HedgerowError(
            f"Expected sentences, a data frame, a data set or a file, found {type(texts).__name__}."
        )
    found = list(texts)
    odd = next((text for text in found if not isinstance(text, str)), None)
    if odd is not None:
        raise HedgerowError(f"Expected sentences, found {type(odd).__name__} among them.")
    return pa.table({"text": pa.array(found, pa.string())}), "the list"
