"""Agreement between people, and between people and models."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.review.agreement.estimates import Estimate
from curation.review.agreement.figures import By, figures
from curation.review.agreement.interpretation import as_text, number, sentences
from curation.review.agreement.records import COLUMNS, ids_of, records, table
from curation.review.opinions.agreement import Agreement, together
from curation.review.opinions.stored import Judge
from curation.tables.spreadsheets import csv_bytes
from db.engine import reading
from hedgerow.data.agreement import Agreed, Row, columns, read_agreement, rows
from hedgerow.data.opinions import agreements

Line = str | Table


def show_agreement(
    by: Annotated[By, typer.Option(help="Group by this.")] = By.TYPE,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Include verdicts given after seeing somebody else's."),
    ] = False,
    source: Annotated[str, typer.Option(help="Only this source of anchors.")] = "",
    csv: Annotated[
        Path | None,
        typer.Option(help="Also write a CSV file with all verdicts on the counted variants."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far people agree on variants with verdicts from several people, and how far each
    model that gives opinions agrees with people."""
    home = open_home()
    with reading(home.engine) as session:
        found = read_agreement(session, independent=not everything, source=source)
        groups = list(rows(session, found.counted, by))
        if csv is not None:
            behind = records(session, ids_of(found.counted))
            csv.write_bytes(csv_bytes(COLUMNS, table(behind)))
    models = agreements(home)
    overall = figures(found.counted)
    people = overall.facts() | {
        "left_out": found.left_out,
        "meaning": sentences(overall),
        "by": by.value,
        "groups": groups,
    }
    result = {"people": people, "judges": [_judge(one, types) for one, types in models]}
    lines = [*_of_people(found, groups, by), *_of_models(models)]
    show(result, as_json, *lines)


def _of_people(found: Agreed, groups: list[Row], by: By) -> list[Line]:
    if not found.all.variants:
        return ["No two people have decided on the same variant yet."]
    left_out: list[Line] = []
    if found.left_out:
        left_out.append(
            f"Left out: {counted(found.left_out, 'variant')} with fewer than two independent "
            "verdicts. Use --all to include all verdicts."
        )
    if not found.counted.variants:
        return left_out
    overall = figures(found.counted)
    everything = dict(zip(columns(by), ("all", ""), strict=False)) | overall.facts()
    group = columns(by)[: -len(overall.facts())]
    return [
        f"{counted(overall.variants, 'variant')} with verdicts from several people:",
        table_of(
            *group,
            "variants",
            "agreement",
            "alpha",
            "kappa",
            "accepted",
            rows=(
                [
                    *(row[name] for name in group),
                    f"{row['variants']:,}",
                    as_text(_estimate(row, "agreement"), as_percent=True),
                    as_text(_estimate(row, "alpha")),
                    as_text(_estimate(row, "kappa")),
                    number(row["accepted"], as_percent=True),
                ]
                for row in (*groups, everything)
            ),
        ),
        *sentences(overall),
        *left_out,
    ]


def _estimate(row: Row, name: str) -> Estimate:
    return Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _judge(one: Judge, types: list[Agreement]) -> dict[str, Any]:
    return {
        "name": one.name,
        "counts": one.counts,
        "opinions": one.opinions,
        "types": [_row(row) for row in (*types, together(types))],
    }


def _of_models(found: list[tuple[Judge, list[Agreement]]]) -> list[Line]:
    lines: list[Line] = []
    for one, types in found:
        lines.append(f"{one.name}: {counted(one.opinions, 'opinion')}")
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
                        as_text(Estimate(row.share), as_percent=True),
                        as_text(Estimate(row.kappa)),
                        row.after_looking,
                    ]
                    for row in (*types, together(types))
                ),
            )
        )
    return lines or ["No model has given an opinion yet."]


def _row(row: Agreement) -> dict[str, Any]:
    return row._asdict() | {"pairs": row.pairs, "share": row.share, "kappa": row.kappa}
