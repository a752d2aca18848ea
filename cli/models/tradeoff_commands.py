"""The trade-off of a finished training: measured, shown, and saved at a point."""

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.shared.home import asked_by, open_home
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from db.engine import reading, writing
from db.errors import HedgerowError
from db.settings import Settings
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.retention.tradeoff import StsFile, finished_training, read_sts_file, request_tradeoff
from training.retention.tradeoff_curve import GENERAL, NEGATION, Curve, axes, curve_of, suggested
from training.retention.tradeoff_save import request_save


def tradeoff(
    run: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=LARGEST_NUMBER, help="A training's number.")
    ],
    share: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Of the finetuned weights; shown, and measured if new."),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save the model with this share as one of its own.")
    ] = False,
    sts_file: Annotated[
        Path | None,
        typer.Option(
            "--sts",
            metavar="FILE",
            help="Score and two sentences a line, separated by "
            "tabs; measures general ability in addition to retrieval and drift.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show negation against general ability between a training's base and its model.
    Measures it where that has not been done; nothing is trained.
    """
    if save and share is None:
        raise HedgerowError("Expected --share beside --save, found none; such as --share 0.7.")
    settings, engine = open_home()
    sts = read_sts_file(sts_file) if sts_file else None
    curve = _curve(settings, engine, run, share=share, sts=sts)
    saved = _saved(settings, engine, run, share) if save and share is not None else {}
    result = _facts(curve, share) | saved
    told = [f"The model is saved as {saved['encoder']!r} in {saved['model']}."] if saved else []
    retrieval = [WHAT_IT_IS] if curve.measured([RETRIEVAL]) else []
    show(result, as_json, _table(curve), _hint(result["suggested"]), *retrieval, *told)


def _curve(
    settings: Settings, engine: Engine, training: int, *, share: float | None, sts: StsFile | None
) -> Curve:
    """The measured trade-off; measured now if it is not there, or not as it is asked for."""
    with reading(engine) as session:
        finished_training(session, training)
        curve = curve_of(session, training)
    enough = curve is not None and (share is None or curve.at(share) is not None)
    if curve is not None and enough and sts is None:
        return curve
    with writing(engine) as session:
        asked = request_tradeoff(
            session,
            settings,
            training=training,
            sts=sts,
            more_shares=() if share is None else (share,),
            requested_by=asked_by(session, settings),
        )
    carry_out_run(settings, engine, asked.id)
    with reading(engine) as session:
        curve = curve_of(session, training)
    assert curve is not None  # it has just been stored
    return curve


def _saved(settings: Settings, engine: Engine, training: int, share: float) -> dict[str, Any]:
    with writing(engine) as session:
        asked = request_save(
            session,
            settings,
            training=training,
            share=share,
            requested_by=asked_by(session, settings),
        )
    result = carry_out_run(settings, engine, asked.id)
    return {"model": result["model"], "encoder": result["name"]}


def _facts(curve: Curve, share: float | None) -> dict[str, Any]:
    """What ``--json`` says of a curve."""
    point = None if share is None else curve.at(share)
    general, negation = axes(curve)
    return {
        "run": curve.run,
        "training": curve.training,
        "own_share": curve.own_share,
        "sts": curve.sts,
        "counts": curve.counts,
        "points": [point._asdict() for point in curve.points],
        "suggested": suggested(curve, general=general[0], negation=negation[0]),
        "chosen": point._asdict() if point else None,
    }


def _table(curve: Curve) -> Any:
    names = [*curve.measured(NEGATION), *curve.measured(GENERAL)]
    return table_of(
        "share",
        *names,
        rows=(
            (f"{point.share:g}", *(f"{point.value(name):.3f}" for name in names))
            for point in curve.points
        ),
    )


def _hint(share: float) -> str:
    return (
        "0 is the base encoder, 1 the finetuned one; kept is 1 - drift. Suggested: "
        f"--share {share:g}, the point farthest above the straight line between the ends."
    )
