"""Training runs on the command line, carried out now or stored for later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from curation.release.freezing import get_release
from curation.release.overlap_results import told
from db.engine import reading
from db.errors import HedgerowError
from db.models import Run
from db.settings import Settings
from hedgerow.models.training import store_training
from hedgerow.runs.progress import err, progress_bar, text_of
from training.benchmarks.contamination import (
    bundled_texts_description,
    compare,
    compare_bundled_texts,
)
from training.recipe.cautions import cautions
from training.recipe.plan import KIND
from training.recipe.presets import PRESETS
from training.runs.trainings import DEFAULT_SEED


def train_encoder(
    number: Annotated[
        int | None,
        typer.Option(
            "--release",
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Release to train on. Default: the newest, or a first one made from all sources.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(PRESETS)}. Default: the preset that fits the release.",
        ),
    ] = None,
    recipe_file: Annotated[
        Path | None,
        typer.Option(
            "--recipe", metavar="FILE", help="YAML file with a recipe, instead of a preset."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key. Can be repeated."),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed for the order of the data and the dropout.")
    ] = DEFAULT_SEED,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            help="Store the run without starting it, for another host or for several processes.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Finetune an encoder on a release and evaluate it before and after."""
    if preset and recipe_file:
        raise HedgerowError("Expected --preset or --recipe, found both; remove one of them.")
    home = open_home()
    run, recipe, chosen = store_training(
        home, number, preset=preset, recipe=recipe_file, changes=changes or [], seed=seed
    )
    if not as_json:
        for sentence in filter(None, [chosen, *cautions(recipe)]):
            err.print(text_of(sentence), soft_wrap=True)
    if queue:
        show(_queued(run), as_json, *_how_to_start(run))
        return
    if not as_json:
        _warn(*home, run.parameters["release"], held=bool(recipe.retention))
    result = carry_out_run(*home, run.id)
    show(result, as_json, *sentences(KIND, result))


def _warn(settings: Settings, engine: Engine, number: int, *, held: bool) -> None:
    """Warn before training if the release or the bundled texts overlap with benchmarks.

    Args:
        held: whether the recipe uses retention with the bundled texts.
    """
    with reading(engine) as session, progress_bar() as report:
        found = compare(session, settings.data_folder, get_release(session, number), report=report)
        bundled = compare_bundled_texts(settings.data_folder, report=report) if held else []
    warnings = [told(entry.facts) for entry in found if entry.shares]
    if any(entry.shares for entry in bundled):
        warnings.append(bundled_texts_description([entry.facts for entry in bundled]))
    for sentence in warnings:
        err.print(text_of(sentence), soft_wrap=True)


def _queued(run: Run) -> dict[str, Any]:
    kept = {key: run.parameters[key] for key in ("release", "preset")}
    return {"run": run.id, "state": run.state, **kept}


def _how_to_start(run: Run) -> list[str]:
    return [
        f"Run {run.id} is stored. Start it here, or on any host with access to the database and "
        "the data folder:",
        f"  hedgerow run {run.id}",
        "or in several processes, one per GPU or per group of CPU cores:",
        f"  torchrun --nproc-per-node 2 -m training {run.id}",
    ]
