"""Agreement between people, and between people and models."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home
from cli.terminal import LARGEST_NUMBER, AsJson, show, table_of
from curation.decisions.coefficients import Estimate
from curation.diagnostics.model_verdicts import Agreement, together
from curation.diagnostics.opinions import ModelReviewer
from curation.formatting import counted
from curation.review.agreement.figures import By, as_text, figures, number, sentences
from curation.review.agreement.records import COLUMNS, ids_of, records, table
from curation.review.calibration.consistency import Consistency, consistencies
from curation.review.calibration.figures import (
    FEWEST,
    PRECISION,
    Calibration,
    JudgeFigures,
    TypeFigures,
    calibration,
)
from curation.tables.safe_csv import csv_bytes
from db.engine import reading
from hedgerow.agreement import Agreed, Row, columns, read_agreement, rows
from hedgerow.generation import agreements

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


def _judge(one: ModelReviewer, types: list[Agreement]) -> dict[str, Any]:
    return {
        "name": one.name,
        "counts": one.counts,
        "opinions": one.decisions,
        "types": [_row(row) for row in (*types, together(types))],
    }


def _of_models(found: list[tuple[ModelReviewer, list[Agreement]]]) -> list[Line]:
    lines: list[Line] = []
    for one, types in found:
        lines.append(f"{one.name}: {counted(one.decisions, 'opinion')}")
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


# -- Show how far models agree with people on a blind sample ---------------------------------------


def show_calibration(
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="[SAMPLE]", min=1, max=LARGEST_NUMBER, help="The sample. Default: the newest."
        ),
    ] = None,
    precision: Annotated[
        float,
        typer.Option(
            min=0.5, max=1, help="Minimum share of a model's 'accept' verdicts that are right."
        ),
    ] = PRECISION,
    as_json: AsJson = False,
) -> None:
    """Show how far each model agrees with people on a blind sample, and which types it can accept
    without human review."""
    _, engine = open_home()
    with reading(engine) as session:
        found = calibration(session, number)
        again = consistencies(session, found.sample)
    result = _as_json(found, again, precision)
    show(result, as_json, *_lines(found, again, precision))


def _as_json(found: Calibration, again: dict[int, Consistency], precision: float) -> dict[str, Any]:
    return {
        "sample": found.sample.id,
        "drawn_by": found.sample.request.model_dump(mode="json"),
        "variants": len(found.sample.uids),
        "types": [
            {"type": type_id, "drawn": sampled, "decided": found.decided.get(type_id, 0)}
            for type_id, sampled in found.sampled.items()
        ],
        "people_disagree": found.disagree,
        "judges": [_figures_of_judge(one, again.get(one.id), precision) for one in found.judges],
    }


def _figures_of_judge(
    one: JudgeFigures, again: Consistency | None, precision: float
) -> dict[str, Any]:
    return {
        "name": one.name,
        "counts": one.counts,
        "judged": one.judged,
        "types": [_type(row) for row in (*one.types, one.together)],
        "recommended": list(one.trusted(precision)),
        "calibration_error": one.reliability.error,
        "bins": [bin_._asdict() for bin_ in one.reliability.bins],
        "without_certainty": one.reliability.unnamed,
        "self_consistency": again._asdict() if again else None,
    }


def _type(row: TypeFigures) -> dict[str, Any]:
    return {
        "type": row.type_id,
        "items": row.items,
        "verdicts": [
            {"judge": judge.value, "people": people.value, "items": number}
            for (judge, people), number in sorted(row.cells.items())
        ],
        "base_rate": row.base_rate,
        "agreement": row.agreement._asdict(),
        "kappa": row.kappa._asdict(),
        "by_chance": row.by_chance,
        "accepted": row.accepted,
        "precision": row.precision._asdict(),
    }


def _lines(
    found: Calibration, again: dict[int, Consistency], precision: float
) -> list[str | Table]:
    decided = sum(found.decided.values())
    lines: list[str | Table] = [
        f"Sample {found.sample.id}: people have decided {decided:,} of "
        f"{sum(found.sampled.values()):,} variants blind. They disagree on {found.disagree:,}; "
        "the strictest verdict counts."
    ]
    if not found.judges:
        lines.append("No model has judged it yet.")
        return lines
    lines.append(
        table_of(
            "model",
            "items",
            "agree",
            "kappa",
            "precision of 'accept'",
            "calibration error",
            "consistency",
            rows=(
                [
                    one.name,
                    one.together.items,
                    as_text(one.together.agreement, as_percent=True),
                    as_text(one.together.kappa),
                    as_text(one.together.precision, as_percent=True),
                    _figure(one.reliability.error),
                    _figure(again[one.id].same if one.id in again else None),
                ]
                for one in found.judges
            ),
        )
    )
    for one in found.judges:
        lines += _of_judge(one, precision)
    lines.append(
        "A type qualifies if the lower bound of the 95% interval of the precision reaches "
        f"{precision:.0%}, on at least {FEWEST} variants that the model accepts."
    )
    return lines


def _of_judge(one: JudgeFigures, precision: float) -> list[str | Table]:
    trusted = ", ".join(one.trusted(precision)) or "no type"
    return [
        f"{one.name}: accept without human review: {trusted}.",
        table_of(
            "type",
            "items",
            "people accept",
            "kappa",
            "by chance",
            "model accepts",
            "precision of 'accept'",
            rows=(
                [
                    row.type_id,
                    row.items,
                    _figure(row.base_rate),
                    as_text(row.kappa),
                    _figure(row.by_chance),
                    row.accepted,
                    _share(row.precision),
                ]
                for row in (*one.types, one.together)
            ),
        ),
    ]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _share(estimate: Estimate) -> str:
    return as_text(estimate, as_percent=True)
