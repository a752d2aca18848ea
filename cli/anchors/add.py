"""Add sentences from a file as anchors."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Printed

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, DryRun, show
from curation.anchors.checks import LABELS
from curation.anchors.importing.decoding import MAX_BYTES
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.insert import (
    MAX_SOURCE,
    About,
    Added,
)
from curation.anchors.importing.nli_texts import (
    FAULTS,
    Originals,
)
from curation.anchors.importing.preview import Fate, FileRow, Preview
from curation.anchors.importing.sample import LONG, SHORT, lengths
from curation.plurals import counted
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT
from hedgerow.data.anchor_import import add_file

STANDARD_INPUT = "standard input"

_EXAMPLES = 8

_EXAMPLE_TEXT = 60


def anchors_add(
    file: Annotated[
        str,
        typer.Argument(help="CSV, TSV, JSON Lines, Parquet or plain text; - reads standard input."),
    ],
    column: Annotated[
        str | None, typer.Option(help="Column with the sentences (default: detected).")
    ] = None,
    genre_column: Annotated[str | None, typer.Option(help="Column with the genres.")] = None,
    entailment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column with entailments (default: detected; '' for none)."
        ),
    ] = None,
    contradiction: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column with contradictions (default: detected; '' for none)."
        ),
    ] = None,
    accept_originals: Annotated[
        bool,
        typer.Option("--accept-originals", help="Accept both with the labels of their data set."),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST_NUMBER,
            help="Only add a sample of this size, with the same proportions of lengths and genres.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Change the seed to get a different sample.")] = 0,
    source: Annotated[
        str, typer.Option(help="Name of the source (default: the file's name).")
    ] = "",
    licence: Annotated[
        str | None, typer.Option(help="Licence of the source, such as 'CC BY 4.0'.")
    ] = None,
    genre: Annotated[str, typer.Option(help="Genre of rows without one.")] = "",
    language: Annotated[str, typer.Option(help="Language tag such as 'en' or 'de-CH'.")] = "en",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="Format of the file (default: detected).")
    ] = None,
    include_suspicious: Annotated[
        bool, typer.Option("--include-suspicious", help="Also add suspicious rows.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the sentences of a file as anchors, all or none. Duplicates are skipped."""
    data, name = _read(file)
    stem = name if file == "-" else Path(file).stem[:MAX_SOURCE]
    done = add_file(
        open_home(),
        data,
        name=name,
        about=About(source=source or stem, licence=licence, genre=genre, language=language),
        column=column,
        genre_column=genre_column,
        originals={ENTAILMENT: entailment, CONTRADICTION: contradiction},
        accept_originals=accept_originals,
        include_suspicious=include_suspicious,
        sample=sample,
        seed=seed,
        format=file_format,
        dry_run=dry_run,
    )
    table, originals, added, before = done.table, done.originals, done.added, done.earlier
    texts = done.texts_alongside
    result = _result(table, done.preview, done.rows, added) | {
        "column": done.column,
        "source": done.about.source,
        "dry_run": dry_run,
        "notes": list(table.notes),
        "added_before": before.run.id if before else None,
        "originals": _summary(originals, added.originals.types),
        "originals_chosen": texts.total(),
    }
    lines = [*table.notes]
    if before:
        origin = f"{counted(before.added, 'anchor')} from the source '{before.source}'"
        lines.append(f"This file has already been added: {origin}.")
    verb = "Would add" if dry_run else "Added"
    lines.append(f"{verb} {counted(len(done.rows), 'anchor')} from the column '{done.column}'.")
    lines += _in_words(originals, texts, verb, accept_originals)
    if added.originals.total:
        lines.append("Run 'hedgerow diagnose' to measure them.")
    show(result, as_json, *lines, *_left_out(done.preview, table, include_suspicious))


def _summary(originals: Originals, types: Mapping[str, int]) -> dict[str, Any]:
    return {
        "columns": dict(originals.columns),
        "added": {type_id: types.get(type_id, 0) for type_id in originals.columns},
        "left_out": {fault.value: count for fault, count in originals.left_out.items()},
    }


def _in_words(
    originals: Originals, texts: Mapping[str, int], verb: str, accepted: bool
) -> list[str]:
    lines = []
    for type_id, column in originals.columns.items():
        state = "accepted" if accepted else "pending"
        count = texts.get(type_id, 0)
        lines.append(f"{verb} {counted(count, type_id)} from the column '{column}', {state}.")
    if originals.left_out:
        faults = "; ".join(f"{count:,} {FAULTS[f]}" for f, count in originals.left_out.items())
        lines.append(f"Entailments and contradictions left out: {faults}.")
    return lines


def _read(file: str) -> tuple[bytes, str]:
    """The bytes of a file or of standard input, up to the size limit, and its name."""
    if file == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1), STANDARD_INPUT
    with Path(file).open("rb") as opened:
        return opened.read(MAX_BYTES + 1), Path(file).name


def _result(table: FileTable, looked: Preview, rows: list[FileRow], added: Added) -> dict[str, Any]:
    fates = looked.fates
    found = lengths(row.text for row in rows)
    return {
        "added": added.added,
        "chosen": len(rows),
        "rows": len(looked.rows),
        "new": fates[Fate.NEW],
        "duplicates": fates[Fate.DUPLICATE],
        "suspicious": fates[Fate.SUSPICIOUS],
        "impossible": fates[Fate.IMPOSSIBLE],
        "reasons": {reason.value: count for reason, count in looked.reasons.items()},
        "words": {
            "median": found.median,
            f"under_{SHORT}": found.share(found.short),
            f"over_{LONG}": found.share(found.long),
        },
        "format": table.format.value,
        "run": added.run_id,
    }


def _left_out(looked: Preview, table: FileTable, include_suspicious: bool) -> list[str | Printed]:
    """Rows with problems: counts by reason, and the first rows to check."""
    lines: list[str | Printed] = []
    if looked.reasons:
        counts = [(LABELS[reason], f"{count:,}") for reason, count in looked.reasons.items()]
        lines += ["", table_of("reason", "rows", rows=counts)]
    doubtful = looked.of(Fate.SUSPICIOUS, Fate.IMPOSSIBLE)
    if doubtful:
        shown = [
            (row.line, row.text[:_EXAMPLE_TEXT], " ".join(f.sentence for f in row.findings))
            for row in doubtful[:_EXAMPLES]
        ]
        lines += ["", table_of(table.unit, "text", "problem", rows=shown)]
    if looked.fates[Fate.SUSPICIOUS] and not include_suspicious:
        lines.append("Suspicious rows were left out. Use --include-suspicious to add them.")
    return lines
