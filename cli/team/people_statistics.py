"""What each person has decided, how fast, and how far they agree with what is known to be right."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.release.export.file_formats import csv_bytes
from curation.review.agreement.interpretation import as_text
from curation.review.agreement.overlap import overlap
from curation.review.people.statistics import (
    COLUMNS,
    PersonFigures,
    Share,
    facts,
    overlapping,
    person_figures,
    table,
)
from db.engine import reading


def statistics(
    csv: Annotated[
        Path | None, typer.Option(help="Write them to this CSV file, with a row for each type.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show for each person who reviews how much they decide, how fast, how much of it they accept,
    and how far they agree with gold items and settlements."""
    with reading(open_home().engine) as session:
        found = person_figures(session)
        overlaps = overlapping(overlap(session))
    if csv is not None:
        csv.write_bytes(csv_bytes(COLUMNS, table(found, overlaps)))
    result = {"people": [facts(one, overlaps) for one in found]}
    if not found:
        show(result, as_json, "Nobody has decided on anything yet.")
        return
    titles = ("name", "decisions", "seconds", "accepted", "gold", "settled", "practice", "shared")
    rows = (_row(one, overlaps.get(one.reviewer_id, 0)) for one in found)
    by_type = ((one.name, key, _of(share)) for one in found for key, share in one.accepted.items())
    show(
        result,
        as_json,
        table_of(*titles, rows=rows),
        "gold, settled: their verdicts that match a gold item, or what was settled after them; "
        "shared: variants that somebody else has decided on, too.",
        table_of("name", "type", "accepted", rows=by_type),
    )


def _row(one: PersonFigures, shared: int) -> list[str]:
    return [
        one.name,
        f"{one.decisions:,}",
        "–" if one.seconds is None else f"{one.seconds:.1f}",
        _of(one.acceptance),
        _of(one.gold),
        _of(one.adjudicated),
        f"{one.practice.right} of {one.practice.answered}" if one.practice_round else "–",
        f"{shared:,}",
    ]


def _of(share: Share) -> str:
    if not share.of:
        return "–"
    return f"{share.number:,} of {share.of:,}, {as_text(share.estimate(), as_percent=True)}"
