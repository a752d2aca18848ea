"""Studies (several training runs that differ in one thing), and the trade-off of a training run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import open_home, takes
from cli.runs import carry_out_run
from cli.scores import facts
from cli.scores import table as score_table
from cli.terminal import AsJson, show, table_of
from db.errors import HedgerowError
from hedgerow.home import acting
from hedgerow.progress import err, text_of
from hedgerow.studies import (
    facts_of,
    figure_names,
    measured_curve,
    outcome,
    save_point,
    suggested_share,
)
from training.benchmarks.catalogue import benchmark as known_benchmark
from training.benchmarks.sources import DataChoice
from training.encoder_run.tradeoff import MeasureTradeoff
from training.encoder_run.tradeoff_curve import Curve
from training.encoder_run.tradeoff_save import SavePoint
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.studies.designs import Study
from training.studies.outcomes import NAMES as FIGURES
from training.studies.outcomes import FigureRow, figure_rows
from training.studies.study_run import RUN_STUDY, RunStudy, expected_seconds

# -- Studies: several training runs that differ in one thing, carried out in this process ----------


@takes(
    RunStudy,
    name=Annotated[Study, typer.Argument(metavar="NAME")],
    release=Annotated[int | None, typer.Option(metavar="N")],
    preset=Annotated[str | None, typer.Option(metavar="NAME")],
    recipe=Annotated[Path | None, typer.Option(metavar="FILE")],
    settings=Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE")],
    benchmarks=Annotated[list[str], typer.Option("--benchmark", metavar="NAME")],
    suites=Annotated[list[str], typer.Option("--suite", metavar="NAME")],
)
def study(request: RunStudy, as_json: AsJson = False) -> None:
    """Train several times with different data, and compare the models.

    A study answers one question with full training runs that differ in one thing only.
    """
    home = open_home()
    run = RUN_STUDY.perform(acting(home), request)
    heading = f"Run {run.id}: {len(run.parameters['members'])} training runs"
    asked = run.parameters.get("benchmarks", {}).get("benchmarks", [])
    then = f" Then {', '.join(map(_named, asked))}." if asked else ""
    if caution := run.parameters["caution"]:
        err.print(text_of(caution), soft_wrap=True)
    err.print(
        text_of(f"{heading}, about {expected_seconds(run) / 60:.0f} min.{then}"), soft_wrap=True
    )
    ended = carry_out_run(*home, run.id)
    members, scores = outcome(home, run.id)
    values = {(row.run, row.figure): row for row in figure_rows(members)}
    table = table_of(
        "run",
        "training",
        "state",
        *FIGURES.values(),
        rows=(
            (
                trial.run.id,
                trial.label,
                trial.run.state,
                *(_shown(values.get((trial.run.id, figure))) for figure in FIGURES),
            )
            for trial in members
        ),
    )
    result = {
        "run": run.id,
        "state": ended["state"],
        "study": run.parameters["study"],
        "release": run.parameters["release"],
        "seed": run.parameters["seed"],
        "members": [facts_of(home.settings, trial) for trial in members],
        "benchmarks": [facts(row, {}) for row in scores],
    }
    measured = {figure for _, figure in values}
    retrieval = [WHAT_IT_IS] if RETRIEVAL in measured else []
    benchmarks = [score_table(scores)] if scores else []
    show(result, as_json, table, *retrieval, *benchmarks, *run.parameters["told"])


def _named(asked: Mapping[str, Any]) -> str:
    """A benchmark and its data, for people."""
    choice = DataChoice.model_validate(asked)
    title = known_benchmark(choice.benchmark).title
    name = choice.data_name or Path(choice.data).name
    return f"{title} ({name})" if name else title


def _shown(row: FigureRow | None) -> str:
    return "–" if row is None else f"{row.value:.3f}"


# -- The trade-off of a finished training run: measure it, show it, save a point -------------------


@takes(
    MeasureTradeoff,
    training=Annotated[int, typer.Argument(metavar="ID")],
    sts=Annotated[Path | None, typer.Option(metavar="FILE")],
)
def tradeoff(
    request: MeasureTradeoff,
    save: Annotated[
        bool, typer.Option("--save", help="Save the model with this share as a new model.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show negation against general ability for mixtures of a run's base encoder and its model.
    Measures them if necessary. Nothing is trained.
    """
    training, share = request.training, request.share
    if save and share is None:
        raise HedgerowError(
            "Expected --share with --save, found none; add, for example, --share 0.7."
        )
    home = open_home()
    curve = measured_curve(home, request)
    result, lines = _facts(curve, share), []
    if save and share is not None:
        saved = save_point(home, SavePoint(training=training, share=share))
        result |= {"model": saved["model"], "encoder": saved["name"]}
        lines.append(f"Saved the model as {saved['name']!r} in {saved['model']}.")
    retrieval = [WHAT_IT_IS] if curve.measured([RETRIEVAL]) else []
    show(result, as_json, _table(curve), _hint(result["suggested"]), *retrieval, *lines)


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
