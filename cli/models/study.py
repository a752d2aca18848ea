"""Studies: several training runs that differ in one thing, carried out in this process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.models.score_rows import facts
from cli.models.score_rows import table as score_table
from cli.shared.home import open_home
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, ReleaseNumber, show
from hedgerow.models.studying import facts_of, outcome, store_study
from hedgerow.runs.progress import err, text_of
from training.benchmarks.catalogue import benchmark as known_benchmark
from training.benchmarks.data.sources import DataChoice
from training.benchmarks.tasks.general import SUITES
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.recipe.presets import PAPER, PRESETS
from training.runs.trainings import DEFAULT_SEED
from training.studies.designs import QUESTIONS, Study
from training.studies.outcomes import NAMES as FIGURES
from training.studies.outcomes import FigureRow, figure_rows
from training.studies.study_run import (
    expected_seconds,
)

NAMES = " ".join(f"{name}: {question}" for name, question in QUESTIONS.items())


def study(
    name: Annotated[Study, typer.Argument(metavar="NAME", help=NAMES)],
    number: ReleaseNumber = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key. Can be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = DEFAULT_SEED,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(PRESETS)}. Default: '{PAPER}' for the study '{Study.DATA}', "
            "and the preset that fits the release for the others.",
        ),
    ] = "",
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Run this benchmark with every model afterwards, on its latest data. Can be "
            "repeated.",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"Run this suite of mteb tasks afterwards ({', '.join(SUITES)})."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train several times with different data, and compare the models.

    A study answers one question with full training runs that differ in one thing only.
    """
    home = open_home()
    run = store_study(
        home,
        name,
        number,
        preset=preset,
        changes=changes or [],
        seed=seed,
        benchmarks=benchmark or (),
        suites=suite or (),
    )
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
        "study": name.value,
        "release": run.parameters["release"],
        "seed": seed,
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
