"""Show how far models agree with people on a blind sample."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.generation.judging.consistency import Consistency, consistencies
from curation.review.agreement.estimates import Estimate
from curation.review.agreement.interpretation import as_text
from curation.review.calibration.figures import (
    FEWEST,
    PRECISION,
    Calibration,
    JudgeFigures,
    TypeFigures,
    calibration,
)
from db.engine import reading


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
        "judges": [_judge(one, again.get(one.id), precision) for one in found.judges],
    }


def _judge(one: JudgeFigures, again: Consistency | None, precision: float) -> dict[str, Any]:
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
