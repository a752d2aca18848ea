"""Search anchors, variants and notes."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.project.search import RANKED, Hit, SearchKind, SearchResult, find
from db.engine import reading


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


def _lines(kind: SearchKind, found: SearchResult) -> list[str | Table]:
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
