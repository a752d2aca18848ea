"""Studies: several trainings that differ in one thing, carried out in this process."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.models.score_rows import facts
from cli.models.score_rows import table as score_table
from cli.shared.home import asked_by, open_home
from cli.shared.run_here import carry_out_run
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, ReleaseNumber, show
from db.engine import reading, writing
from db.runs import get_run
from db.settings import Settings
from hedgerow.models.benchmarks import data_of
from hedgerow.runs.progress import err, text_of
from hedgerow.runs.running import located
from training.benchmarks.catalogue import benchmark as known_benchmark
from training.benchmarks.data.sources import DataChoice, kept_data, require_hub
from training.benchmarks.results.queries import of_run
from training.benchmarks.tasks.general import SUITES
from training.data.composition import composition
from training.evaluation.retrieval import RETRIEVAL, WHAT_IT_IS
from training.recipe.inputs import with_full_paths
from training.recipe.presets import PAPER, PRESETS
from training.runs.trainings import DEFAULT_SEED
from training.studies.designs import QUESTIONS, Study
from training.studies.members import Trial, trials
from training.studies.outcomes import NAMES as FIGURES
from training.studies.outcomes import FigureRow, figure_rows
from training.studies.study_run import (
    Measured,
    benchmark_run,
    expected_seconds,
    recipe_of,
    request_study,
)

NAMES = " ".join(f"{name}: {question}" for name, question in QUESTIONS.items())


def study(
    name: Annotated[Study, typer.Argument(metavar="NAME", help=NAMES)],
    number: ReleaseNumber = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all trainings.")] = DEFAULT_SEED,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(PRESETS)}; otherwise '{PAPER}' for the study '{Study.DATA}', and for "
            "the others the one that fits the release.",
        ),
    ] = "",
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Then measure every model with this benchmark, on the data named last; may be "
            "repeated.",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help=f"Then run a suite of mteb's tasks ({', '.join(SUITES)})."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train several times, each time with other data, and compare the models.

    A study answers one question by full trainings that differ in one thing alone.
    """
    settings, engine = open_home()
    choices = tuple(_data(settings, name) for name in benchmark or ())
    for choice in choices:
        require_hub(choice)  # before the trainings rather than after them
    with writing(engine) as session:
        data = composition(session, number)
        base = recipe_of(session, name, data, preset)
        run = request_study(
            session,
            name,
            data=data,
            seed=seed,
            base=with_full_paths(base.with_overrides(changes or [])),
            measured=Measured(choices, tuple(suite or ())),
            requested_by=asked_by(session, settings),
        )
    told = f"Run {run.id}: {len(run.parameters['members'])} trainings"
    then = f" Then {', '.join(map(_named, choices))}." if choices else ""
    if caution := run.parameters["caution"]:
        err.print(text_of(caution), soft_wrap=True)
    err.print(text_of(f"{told}, about {expected_seconds(run) / 60:.0f} min.{then}"), soft_wrap=True)
    ended = carry_out_run(settings, engine, run.id)
    with reading(engine) as session:
        members = trials(session, run)
        number = benchmark_run(get_run(session, run.id))
        scores = [] if number is None else of_run(session, number)
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
        "release": data.release,
        "seed": seed,
        "members": [_as_json(settings, trial) for trial in members],
        "benchmarks": [facts(row, {}) for row in scores],
    }
    measured = {figure for _, figure in values}
    retrieval = [WHAT_IT_IS] if RETRIEVAL in measured else []
    benchmarks = [score_table(scores)] if scores else []
    show(result, as_json, table, *retrieval, *benchmarks, *run.parameters["told"])


def _data(settings: Settings, name: str) -> DataChoice:
    """What a benchmark is measured on: the data that were named last, or what needs none."""
    kept = kept_data(settings.data_folder, known_benchmark(name).id)
    return kept[0].choice if kept else data_of(settings, name)


def _named(choice: DataChoice) -> str:
    """A benchmark and its data, for people."""
    title = known_benchmark(choice.benchmark).title
    name = choice.data_name or Path(choice.data).name
    return f"{title} ({name})" if name else title


def _shown(row: FigureRow | None) -> str:
    return "–" if row is None else f"{row.value:.3f}"


def _as_json(settings: Settings, trial: Trial) -> dict[str, Any]:
    kept = ("triples", "steps", "held_out", "model")
    result = located(settings, trial.run.result)
    return {
        "run": trial.run.id,
        "label": trial.label,
        "state": trial.run.state.value,
        "message": trial.run.message,
        **{key: result[key] for key in kept if key in result},
    }
