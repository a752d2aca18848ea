"""Add sentences from a file as anchors."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Printed

from cli.options import open_home, takes
from cli.terminal import AsJson, DryRun, show, table_of
from curation.anchors.checks import LABELS
from curation.editing.own_types import CONTRADICTION
from curation.formatting import counted
from curation.importing.anchor_preview import FileRow, Preview, RowStatus, changed
from curation.importing.anchor_storing import Added
from curation.importing.anchors import COLUMNS, AddAnchors, AnchorFile, Plan, places
from curation.importing.labels import LabelledTable, parse_meanings, read_file
from curation.importing.originals import FAULTS
from curation.importing.sample import LONG, SHORT, lengths
from curation.tables.columns import FileTable
from curation.tables.files import MAX_BYTES
from curation.tables.table import Format
from hedgerow.anchor_import import add_file, opened_table

STANDARD_INPUT = "standard input"

_EXAMPLES = 8

_EXAMPLE_TEXT = 60


@takes(
    AddAnchors,
    entailment=Annotated[str | None, typer.Option(metavar="NAME")],
    contradiction=Annotated[str | None, typer.Option(metavar="NAME")],
)
def anchors_add(
    file: Annotated[
        str,
        typer.Argument(help="CSV, TSV, JSON Lines, Parquet or plain text; - reads standard input."),
    ],
    request: AddAnchors,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="LABEL=entailment|neutral|contradiction",
            help="The meaning of a label that is not known, such as 2=contradiction.",
        ),
    ] = None,
    file_format: Annotated[
        Format | None, typer.Option("--format", help="Format of the file (default: detected).")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the sentences of a file as anchors. Duplicates are skipped."""
    anchors = _read(file, file_format, parse_meanings(labels or []))
    done = add_file(open_home(), request, anchors, dry_run=dry_run)
    planned, added = done.plan, done.added
    columns, before, table = planned.columns, planned.earlier, planned.table
    texts = done.texts_alongside
    result = _result(table, done.preview, done.rows, added) | {
        "column": columns.sentences,
        **{f"{name}_column": columns.attributes.get(name) for name in COLUMNS},
        "splits": dict(planned.splits),
        "source": planned.about.source,
        "dry_run": dry_run,
        "notes": list(table.notes),
        "added_before": before.run.id if before else None,
        "originals": _summary(planned, added.originals.types),
        "originals_chosen": texts.total(),
    }
    lines = [*_how(table), *places(planned), *changed(done.preview.changed)]
    if before:
        origin = f"{counted(before.added, 'anchor')} from the source '{before.source}'"
        lines.append(f"This file has already been added: {origin}.")
    verb = "Would add" if dry_run else "Added"
    lines.append(
        f"{verb} {counted(len(done.rows), 'anchor')} from the column '{columns.sentences}'."
    )
    lines += _in_words(planned, texts, verb)
    if added.originals.total:
        lines.append("Run 'hedgerow diagnose' to measure them.")
    show(result, as_json, *lines, *_left_out(planned))


def _summary(planned: Plan, types: Mapping[str, int]) -> dict[str, Any]:
    columns = planned.columns.originals
    return {
        "columns": dict(columns),
        "added": {type_id: types.get(type_id, 0) for type_id in columns},
        "left_out": {fault.value: n for fault, n in planned.originals_left_out.items()},
    }


def _in_words(planned: Plan, texts: Mapping[str, int], verb: str) -> list[str]:
    lines = []
    for type_id, column in planned.columns.originals.items():
        state = "accepted" if planned.request.accept_originals else "pending"
        count = texts.get(type_id, 0)
        lines.append(f"{verb} {counted(count, type_id)} from the column '{column}', {state}.")
    if left_out := planned.originals_left_out:
        faults = "; ".join(f"{count:,} {FAULTS[f]}" for f, count in left_out.items())
        lines.append(f"Entailments and contradictions left out: {faults}.")
    return lines


def _how(table: LabelledTable) -> list[str]:
    """How the file was read."""
    tool = [f"Read as an export of {table.tool}, with one row per answer."] * bool(table.tool)
    lines = [*tool, *table.notes]
    if unknown := table.labels.unknown:
        options = table.labels.usual() or dict.fromkeys(list(unknown)[:1], CONTRADICTION)
        told = " ".join(f"--label {value}={meaning}" for value, meaning in options.items())
        lines.append(f"Tell the meaning of labels with {told}, for example.")
    return lines


def _read(file: str, format: Format | None, labels: Mapping[str, str]) -> AnchorFile:
    """The table of a file or of standard input, and the default name of its source."""
    if file != "-":
        return opened_table(Path(file), format=format, labels=labels)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    table = read_file(data, name=STANDARD_INPUT, format=format, meanings=labels)
    return AnchorFile(table, STANDARD_INPUT)


def _result(table: FileTable, looked: Preview, rows: list[FileRow], added: Added) -> dict[str, Any]:
    statuses = looked.statuses
    found = lengths(row.text for row in rows)
    return {
        "added": added.added,
        "chosen": len(rows),
        "rows": len(looked.rows),
        "new": statuses[RowStatus.NEW],
        "duplicates": statuses[RowStatus.DUPLICATE],
        "suspicious": statuses[RowStatus.SUSPICIOUS],
        "impossible": statuses[RowStatus.IMPOSSIBLE],
        "reasons": {reason.value: count for reason, count in looked.reasons.items()},
        "changed": {change.value: count for change, count in looked.changed.items()},
        "words": {
            "median": found.median,
            f"under_{SHORT}": found.share(found.short),
            f"over_{LONG}": found.share(found.long),
        },
        "format": table.format.value,
        "run": added.run_id,
    }


def _left_out(planned: Plan) -> list[str | Printed]:
    """Rows with problems: counts by reason, and the first rows to check."""
    looked, lines = planned.preview, list[str | Printed]()
    if looked.reasons:
        counts = [(LABELS[reason], f"{count:,}") for reason, count in looked.reasons.items()]
        lines += ["", table_of("reason", "rows", rows=counts)]
    doubtful = looked.with_status(RowStatus.SUSPICIOUS, RowStatus.IMPOSSIBLE)
    if doubtful:
        shown = [
            (row.line, row.text[:_EXAMPLE_TEXT], " ".join(f.sentence for f in row.findings))
            for row in doubtful[:_EXAMPLES]
        ]
        lines += ["", table_of(planned.table.unit, "text", "problem", rows=shown)]
    if looked.statuses[RowStatus.SUSPICIOUS] and not planned.request.include_suspicious:
        lines.append("Suspicious rows were left out. Use --include-suspicious to add them.")
    return lines
