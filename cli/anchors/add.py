"""Adding the user's own sentences as anchors."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Printed

from cli.shared.home import asked_by, open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, DryRun, show
from curation.anchors.checks import LABELS
from curation.anchors.importing.decoding import MAX_BYTES
from curation.anchors.importing.file_table import FileTable, Format
from curation.anchors.importing.formats import read_file
from curation.anchors.importing.insert import (
    MAX_SOURCE,
    About,
    Added,
    Beside,
    add_anchors,
    check_source,
    earlier_import,
)
from curation.anchors.importing.nli_texts import (
    FAULTS,
    Originals,
    guess_columns,
    read_originals,
)
from curation.anchors.importing.preview import Fate, FileRow, Preview, preview
from curation.anchors.importing.sample import LONG, SHORT, lengths
from curation.plurals import counted
from curation.taxonomy.nli_types import CONTRADICTION, ENTAILMENT
from db.engine import reading, writing

STANDARD_INPUT = "standard input"

_EXAMPLES = 8

_EXAMPLE_TEXT = 60


def anchors_add(
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or plain text; - reads the input.")
    ],
    column: Annotated[
        str | None, typer.Option(help="The column with the sentences (otherwise guessed).")
    ] = None,
    genre_column: Annotated[str | None, typer.Option(help="A column with the genres.")] = None,
    entailment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column with entailments (guessed; '' for none)."),
    ] = None,
    contradiction: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The one with contradictions (guessed; '' for none)."),
    ] = None,
    accept_originals: Annotated[
        bool, typer.Option("--accept-originals", help="Accept both as their data set labels them.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST_NUMBER,
            help="Add so many only, with the lengths and genres of all of them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one draws another sample.")] = 0,
    source: Annotated[
        str, typer.Option(help="Where they come from (otherwise the file's name).")
    ] = "",
    licence: Annotated[str | None, typer.Option(help="The source's, such as 'CC BY 4.0'.")] = None,
    genre: Annotated[str, typer.Option(help="For rows that name no genre of their own.")] = "",
    language: Annotated[str, typer.Option(help="A tag such as 'en' or 'de-CH'.")] = "en",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="How to read it (otherwise guessed).")
    ] = None,
    include_suspicious: Annotated[
        bool, typer.Option("--include-suspicious", help="Add the suspicious ones, too.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the sentences of a file as anchors, all or none; duplicates are passed over."""
    settings, engine = open_home()
    data, name = _read(file)
    stem = name if file == "-" else Path(file).stem[:MAX_SOURCE]
    about = About(source=source or stem, licence=licence, genre=genre, language=language)
    added = Added(0)
    table = read_file(data, name=name, format=file_format)
    column = column or table.sentence_column()
    with reading(engine) as session:  # the others can go on writing meanwhile
        looked = preview(
            session, table, column=column, genre_column=genre_column, language=language
        )
        before = earlier_import(session, looked.content_hash)
        check_source(session, about)
        given = {ENTAILMENT: entailment, CONTRADICTION: contradiction}
        originals = read_originals(
            session,
            table,
            looked,
            sentence=column,
            source=about.source,
            language=language,
            columns=_columns(guess_columns(table, column), given),
        )
    rows = looked.chosen(include_suspicious=include_suspicious, sample=sample, seed=seed)
    texts = Counter(text.type_id for text in originals.of(rows))
    if (rows or texts) and not dry_run:
        with writing(engine) as session:
            added = add_anchors(
                session,
                looked,
                rows,
                about=about,
                file=name,
                beside=Beside(originals, accept_originals) if originals.columns else None,
                parameters={
                    "column": column,
                    "genre_column": genre_column,
                    "sample": sample,
                    "seed": seed,
                    "include_suspicious": include_suspicious,
                },
                author_id=asked_by(session, settings),
            )
    result = _result(table, looked, rows, added) | {
        "column": column,
        "source": about.source,
        "dry_run": dry_run,
        "notes": list(table.notes),
        "added_before": before.run.id if before else None,
        "originals": _told(originals, added.originals.types),
        "originals_chosen": texts.total(),
    }
    lines = [*table.notes]
    if before:
        told = f"{counted(before.added, 'anchor')} of the source '{before.source}'"
        lines.append(f"The same file was added before: {told}.")
    verb = "Would add" if dry_run else "Added"
    lines.append(f"{verb} {counted(len(rows), 'anchor')} from the column '{column}'.")
    lines += _in_words(originals, texts, verb, accept_originals)
    if added.originals.total:
        lines.append("'hedgerow diagnose' measures them.")
    show(result, as_json, *lines, *_left_out(looked, table, include_suspicious))


def _columns(guessed: Mapping[str, str], given: Mapping[str, str | None]) -> dict[str, str]:
    """Type id → the column that somebody named, or the guessed one; '' is none."""
    named = {
        type_id: guessed.get(type_id, "") if name is None else name
        for type_id, name in given.items()
    }
    return {type_id: name for type_id, name in named.items() if name}


def _told(originals: Originals, types: Mapping[str, int]) -> dict[str, Any]:
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
    """The bytes of a file or of the standard input, no more than are taken, and its name."""
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
    """What is not simply new, counted by reason, and the first of the rows that need a look."""
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
        lines += ["", table_of(table.unit, "text", "what speaks against it", rows=shown)]
    if looked.fates[Fate.SUSPICIOUS] and not include_suspicious:
        lines.append("Suspicious ones were left out; --include-suspicious adds them, too.")
    return lines
