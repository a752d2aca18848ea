"""Import variants with their anchors, find similar ones, and search anchors, variants and notes."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Printed

from cli.options import open_home, takes, this_project
from cli.review import Uid
from cli.runs import sentences
from cli.terminal import AsJson, DryRun, show, table_of
from curation.anchors.search import RANKED, Hit, SearchKind, SearchResult, find
from curation.editing.attributes import moved_rows
from curation.formatting import counted
from curation.importing.anchor_preview import changed
from curation.importing.column_roles import ColumnRoles
from curation.importing.variant_preview import Preview, against, left_out, nothing_left
from curation.importing.variants import KIND, ImportVariants
from curation.similar import LOW_COSINE, NONE_SIMILAR
from curation.tables.delimited import not_used
from curation.tables.table import Table
from db.engine import reading
from db.models import Verdict
from hedgerow.variants import import_file, opened

# -- Import a table of variants with their anchors, types, cues and verdicts -----------------------


@takes(
    ImportVariants,
    mapping=Annotated[list[str], typer.Option("--map", metavar="COLUMN=ROLE")],
    undecided=Annotated[list[str], typer.Option(metavar="TYPE")],
    verdicts=Annotated[list[str], typer.Option("--verdict", metavar="VALUE=accept|reject|none")],
)
def variants_add(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE_OR_FOLDER",
            help="CSV, TSV, JSON, JSON Lines, Parquet, or the folder or zip file of an export.",
        ),
    ],
    request: ImportVariants,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Import variants with their anchors. Rows that the project already has are skipped."""
    done = import_file(open_home(), request, opened(file), dry_run=dry_run)
    found = done.preview
    result: dict[str, Any] = {
        "rows": done.rows,
        "columns": dict(done.roles),
        "tool": done.table.tool,
        "notes": list(done.table.notes),
        "anchors": found.anchors,
        "variants": found.variants,
        "types": dict(found.types),
        "decisions": found.decisions,
        "verdicts": _by_reviewer(found),
        "left_out": {reason.value: count for reason, count in found.left_out.items()},
        "places": dict(found.places),
        "changed": {change.value: count for change, count in found.changed.items()},
        "elsewhere": {source: one.variants for source, one in found.elsewhere.items()},
        "against": _against(found),
        "dry_run": dry_run,
        "run": None,
    }
    lines = _in_words(done.table, done.roles, found, dry_run=dry_run)
    if done.result:
        result |= done.result
        lines = [*sentences(KIND, result), *lines]
    show(result, as_json, *lines)


def _against(found: Preview) -> dict[str, dict[str, int]]:
    """Verdict → status in the project → number of verdicts."""
    counts: dict[str, dict[str, int]] = {}
    for (verdict, status), count in found.against.items():
        counts.setdefault(verdict.value, {})[status.value] = count
    return counts


def _by_reviewer(found: Preview) -> dict[str, int]:
    counts: dict[str, int] = {}
    for (name, _), count in found.verdicts.items():
        counts[name] = counts.get(name, 0) + count
    return counts


def _in_words(
    table: Table, roles: ColumnRoles, found: Preview, *, dry_run: bool
) -> list[str | Printed]:
    read = ", ".join(f"{column} ({role})" for column, role in roles.items())
    tool = f" as an export of {table.tool}" if table.tool else ""
    lines: list[str | Printed] = [f"Read {table.name}{tool}: {read}.", *table.notes]
    lines += not_used([column for column in table.columns if column not in roles])
    lines += [*moved_rows(found.moved), *changed(found.changed)]
    if dry_run and (found.variants or found.decisions):
        lines.append(
            f"Would add {counted(found.anchors, 'anchor')}, {counted(found.variants, 'variant')} "
            f"and {counted(found.decisions, 'verdict')}."
        )
    if nothing := nothing_left(found):
        lines.append(nothing)
    if found.types:
        lines += ["", table_of("type", "variants", rows=found.types.items())]
    if found.verdicts:
        rows = [
            (reviewer, "accepted" if verdict is Verdict.ACCEPT else "rejected", count)
            for (reviewer, verdict), count in found.verdicts.items()
        ]
        lines += ["", table_of("reviewer", "verdict", "variants", rows=rows)]
    if differing := against(found):
        lines += ["", differing]
    if found.left_out:
        left = [(one.what, one.number, one.first) for one in left_out(found)]
        lines += ["", table_of("left out", "number", "first at", rows=left)]
    return lines


# -- Find the variants that are most similar to a given one ----------------------------------------


def similar(
    uid: Uid,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of variants to list.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the variants of other anchors with the most similar embeddings.

    Missing embeddings are computed first.
    """
    rows = this_project().similar_variants(uid, limit=limit).to_dict("records")
    table = table_of(
        "uid",
        "cosine",
        "text",
        "type",
        "status",
        rows=[
            (row["uid"], f"{row['cosine']:.2f}", row["text"], row["type"], row["status"])
            for row in rows
        ],
    )
    lines: list[str | Printed] = [table] if rows else ["There are no variants of other anchors."]
    if rows and rows[0]["cosine"] < LOW_COSINE:
        lines.append(NONE_SIMILAR)
    show({"variant": uid, "similar": rows}, as_json, *lines)


# -- Search anchors, variants and notes ------------------------------------------------------------


def search(
    text: Annotated[str, typer.Argument(help="Consecutive words, part of a word, or a uid.")],
    kinds: Annotated[
        list[SearchKind] | None,
        typer.Option("--in", help="Only search these. Repeat for several.", show_default=False),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=RANKED, help="Maximum results of each kind.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Search anchors, variants and notes, ignoring case."""
    _, engine = open_home()
    with reading(engine) as session:
        found = {
            kind: find(session, text, kind, limit=limit)
            for kind in dict.fromkeys(kinds or SearchKind)
        }
    result = {"text": text} | {
        kind.value: {
            "total": len(some.rows),
            "more": some.more,
            "hits": [_as_json(hit) for hit in some.hits],
        }
        for kind, some in found.items()
    }
    lines = [line for kind, some in found.items() for line in _lines(kind, some)]
    show(result, as_json, *lines)


def _as_json(hit: Hit) -> dict[str, Any]:
    known = {"anchor": hit.anchor_uid, "text": hit.text, "retired": hit.retired}
    if hit.kind is SearchKind.ANCHORS:
        return known
    known |= {"variant": hit.variant_uid, "type": hit.type_id, "status": hit.status}
    return known | ({"variant_text": hit.about} if hit.kind is SearchKind.NOTES else {})


def _lines(kind: SearchKind, found: SearchResult) -> list[str | Printed]:
    total = f"more than {len(found.rows)}" if found.more else f"{len(found.rows)}"
    if not found.hits:
        return [f"0 {kind} contain it."]
    if kind is SearchKind.ANCHORS:
        table = table_of(
            "uid", "anchor", "status", rows=[(h.anchor_uid, h.text, _status(h)) for h in found.hits]
        )
    else:
        table = table_of(
            "uid of the variant",
            kind.value.removesuffix("s"),
            "type",
            "status",
            rows=[(h.variant_uid or "", h.text, h.type_id or "", _status(h)) for h in found.hits],
        )
    if total == "1":
        return [table, f"1 {kind.value.removesuffix('s')} contains it."]
    first = f" Showing the first {len(found.hits)}." if len(found.hits) < len(found.rows) else ""
    return [table, f"{total[0].upper()}{total[1:]} {kind} contain it.{first}"]


def _status(hit: Hit) -> str:
    return "retired" if hit.retired else hit.status or "in use"
