"""The trade-off of a finished training run: measure it, show it, save a point."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from db.errors import HedgerowError
from hedgerow.home import Home
from hedgerow.models.tradeoff import figure_names, measured_curve, save_point, suggested_share
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.retention.tradeoff_curve import Curve


def tradeoff(
    run: Annotated[
        int,
        typer.Argument(
            metavar="ID", min=1, max=LARGEST_NUMBER, help="The number of a training run."
        ),
    ],
    share: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of the finetuned weights to show, measured if new."),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save the model with this share as a new model.")
    ] = False,
    sts_file: Annotated[
        Path | None,
        typer.Option(
            "--sts",
            metavar="FILE",
            help="One score and two sentences per line, separated by tabs; another measure of "
            "general ability next to retrieval and drift.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show negation against general ability for mixtures of a run's base encoder and its model.
    Measures them if necessary. Nothing is trained.
    """
    if save and share is None:
        raise HedgerowError(
            "Expected --share with --save, found none; add, for example, --share 0.7."
        )
    home = open_home()
    curve = measured_curve(home, run, share=share, sts=sts_file)
    saved = _saved(home, run, share) if save and share is not None else {}
    result = _facts(curve, share) | saved
    lines = [f"Saved the model as {saved['encoder']!r} in {saved['model']}."] if saved else []
    retrieval = [WHAT_IT_IS] if curve.measured([RETRIEVAL]) else []
    show(result, as_json, _table(curve), _hint(result["suggested"]), *retrieval, *lines)


def _saved(home: Home, training: int, share: float) -> dict[str, Any]:
    result = save_point(home, training, share)
    return {"model": result["model"], "encoder": result["name"]}


def _facts(curve: Curve, share: float | None) -> dict[str, Any]:
    """Output of ``--json`` for a curve."""
    point = None if share is None else curve.at(share)
    return {
        "run": curve.run,
        "training": curve.training,
        "own_share": curve.own_share,
        "sts": curve.sts,
        "counts": curve.counts,
        "points": [point._asdict() for point in curve.points],
        "suggested": suggested_share(curve),
        "chosen": point._asdict() if point else None,
    }


def _table(curve: Curve) -> Any:
    names = figure_names(curve)
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
        "Share 0 is the base encoder, 1 the finetuned one; kept is 1 - drift. Suggested: "
        f"--share {share:g}, the point farthest above the straight line between the ends."
    )
