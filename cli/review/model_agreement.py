"""How far models that give opinions agree with people."""

from typing import Any

from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.review.opinions.agreement import Agreement, together
from hedgerow.data.opinions import agreements


def show_agreement(as_json: AsJson = False) -> None:
    """Show how far each model that gives opinions agrees with people, by type."""
    found = agreements(open_home())
    result = {
        "judges": [
            {
                "name": one.name,
                "counts": one.counts,
                "opinions": one.opinions,
                "types": [_row(row) for row in (*rows, together(rows))],
            }
            for one, rows in found
        ]
    }
    lines: list[str | Table] = []
    for one, rows in found:
        lines.append(f"{one.name} has given {counted(one.opinions, 'opinion')}.")
        lines.append(
            table_of(
                "type",
                "pairs",
                "agree",
                "kappa",
                "left out",
                rows=(
                    [
                        row.type_id,
                        row.pairs,
                        _figure(row.share),
                        _figure(row.kappa),
                        row.after_looking,
                    ]
                    for row in (*rows, together(rows))
                ),
            )
        )
    show(result, as_json, *(lines or ["No model has given an opinion yet."]))


def _row(row: Agreement) -> dict[str, Any]:
    return row._asdict() | {"pairs": row.pairs, "share": row.share, "kappa": row.kappa}


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
