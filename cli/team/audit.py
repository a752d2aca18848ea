"""Show who did what, and when."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.anchors.lookup import source_named
from curation.review.audit.entries import COLUMNS, Filters, Kind
from curation.review.audit.reading import BATCH, entries, page
from curation.review.people.reviewers import find_reviewer
from curation.tables.spreadsheets import csv_lines
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import list_types
from db.engine import reading

_DAY = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


def audit(
    reviewer: Annotated[str, typer.Option(help="Only actions of this person or model.")] = "",
    kind: Annotated[
        Kind | None,
        typer.Option("--action", help="Only this kind of action.", show_default=False),
    ] = None,
    type_id: Annotated[str, typer.Option("--type", help="Only variants of this type.")] = "",
    source: Annotated[str, typer.Option(help="Only anchors of this source.")] = "",
    since: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="From this day or time on, in UTC.", show_default=False),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=_DAY, help="Before this day or time, in UTC.", show_default=False),
    ] = None,
    text: Annotated[str, typer.Option(help="Part of the variant's text, or its uid.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=BATCH, help="Maximum number of actions to list.")
    ] = 20,
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write a CSV file with all actions; the limit does not apply."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what and when, newest first."""
    with reading(open_home().engine) as session:
        wanted = Filters(
            reviewer_id=find_reviewer(session, reviewer).id if reviewer else None,
            kind=kind,
            type_id=known_type(list_types(session), type_id).id if type_id else None,
            source_id=source_named(session, source) if source else None,
            since=since and since.replace(tzinfo=UTC),
            until=until and until.replace(tzinfo=UTC),
            text=text,
        )
        found = page(session, wanted, limit=limit)
        if csv is not None:
            with csv.open("w", encoding="utf-8", newline="") as file:
                rows = (entry.row() for entry in entries(session, wanted))
                file.writelines(csv_lines(COLUMNS, rows))
    result = {
        "entries": [entry.facts() for entry in found.entries],
        "more": found.older is not None,
    }
    if not found.entries:
        show(result, as_json, "No actions found.")
        return
    shown = table_of(
        "at (UTC)",
        "who",
        "what",
        "detail",
        "type",
        "text",
        "uid",
        rows=(
            [
                f"{entry.at:%Y-%m-%d %H:%M}",
                entry.who,
                entry.kind.value,
                entry.detail,
                entry.type_id,
                entry.text,
                entry.uid,
            ]
            for entry in found.entries
        ),
    )
    more = [f"These are the newest {limit:,}; there are older ones."] if found.older else []
    show(result, as_json, shown, *more)
