"""Statistics about each person."""

from pathlib import Path
from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.review.agreement.estimates import FEWEST
from curation.review.agreement.overlap import overlap
from curation.review.people.statistics import (
    COLUMNS,
    PersonFigures,
    facts,
    overlapping,
    person_figures,
    table,
)
from curation.tables.spreadsheets import csv_bytes
from db.engine import reading


def statistics(
    csv: Annotated[
        Path | None, typer.Option(help="Also write a CSV file with one row per person and type.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show each reviewer's number of verdicts, speed and acceptance rate, and how often their
    verdicts match gold items and settlements."""
    with reading(open_home().engine) as session:
        found = person_figures(session)
        overlaps = overlapping(overlap(session))
    if csv is not None:
        csv.write_bytes(csv_bytes(COLUMNS, table(found, overlaps)))
    result = {"people": [facts(one, overlaps) for one in found]}
    if not found:
        show(result, as_json, "Nobody has decided on a variant yet.")
        return
    titles = ("name", "verdicts", "seconds", "accepted", "gold", "settled", "practice", "shared")
    rows = (_row(one, overlaps.get(one.reviewer_id, 0)) for one in found)
    by_type = (
        (one.name, key, share.in_words()) for one in found for key, share in one.accepted.items()
    )
    show(
        result,
        as_json,
        table_of(*titles, rows=rows),
        "verdicts: current verdicts on single variants, without settlements and decisions by "
        "rule. gold, settled: verdicts that match the gold item or the later settlement. shared: "
        "variants that somebody else has also decided on. Intervals are shown for "
        f"{FEWEST} or more verdicts.",
        table_of("name", "type", "accepted", rows=by_type),
    )


def _row(one: PersonFigures, shared: int) -> list[str]:
    return [
        one.name,
        f"{one.decisions:,}",
        "–" if one.seconds is None else f"{one.seconds:.1f}",
        one.acceptance.in_words(),
        one.gold.in_words(),
        one.adjudicated.in_words(),
        f"{one.practice.right} of {one.practice.answered}" if one.practice_round else "–",
        f"{shared:,}",
    ]
