"""List anchors in use or retired anchors."""

from typing import Annotated

import typer
from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.anchors.lookup import AnchorFilter, FoundAnchor, find_anchors, source_named
from db.engine import reading
from db.models import Split

TITLES = ("uid", "anchor", "source", "genre", "split", "variants")


def list_anchors(
    search: Annotated[str, typer.Option(help="Part of the text, or a uid.")] = "",
    source: Annotated[str, typer.Option(help="Only this source.")] = "",
    genre: Annotated[str, typer.Option(help="Only this genre.")] = "",
    split: Annotated[Split | None, typer.Option(help="Only this split.")] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Only retired anchors.")] = False,
    without_variants: Annotated[
        bool, typer.Option("--without-variants", help="Only anchors without variants.")
    ] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_NUMBER, help="Maximum number of anchors.")
    ] = 50,
    offset: Annotated[
        int, typer.Option(min=0, max=LARGEST_NUMBER, help="Number of anchors to skip.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List anchors in use, or retired anchors, in the order in which they were added."""
    wanted = AnchorFilter(
        text=search,
        source=source,
        genre=genre,
        split=split,
        retired=retired,
        without_variants=without_variants,
    )
    _, engine = open_home()
    with reading(engine) as session:
        if source:
            source_named(session, source)
        page = find_anchors(session, wanted, limit=limit, offset=offset)
    rows = [(a.uid, a.text, a.source, a.genre, a.split.value, a.variants) for a in page.anchors]
    lines: list[str | Table] = [table_of(*TITLES, rows=rows)] if rows else []
    result = {"total": page.total, "anchors": [_as_json(anchor) for anchor in page.anchors]}
    show(result, as_json, *lines, f"{len(page.anchors):,} of {page.total:,} anchors.")


def _as_json(anchor: FoundAnchor) -> dict[str, object]:
    return {
        "uid": anchor.uid,
        "text": anchor.text,
        "revision": anchor.revision,
        "source": anchor.source,
        "licence": anchor.licence,
        "genre": anchor.genre,
        "language": anchor.language,
        "split": anchor.split.value,
        "document_id": anchor.document_id,
        "row_id": anchor.row_id,
        "retired": anchor.retired_at is not None,
        "variants": anchor.variants,
    }
