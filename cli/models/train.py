"""Trainings on the command line: asked for, and carried out or left for later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.shared.home import asked_by, open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import LARGEST_NUMBER, AsJson, err, progress_bar, show, text_of
from curation.release.freezing import get_release
from curation.release.overlap_results import told
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run
from db.settings import Settings
from training.benchmarks.contamination import (
    bundled_texts_told,
    compare,
    compare_bundled_texts,
)
from training.recipe.cautions import cautions
from training.recipe.inputs import with_full_paths
from training.recipe.plan import KIND, TrainingPlan, plan
from training.recipe.presets import PRESETS, fitting, named, reason, recipe_for
from training.recipe.schema import Recipe
from training.recipe.yaml_text import read_recipe
from training.runs.trainings import DEFAULT_SEED, request_training


def train_encoder(
    number: Annotated[
        int | None,
        typer.Option(
            "--release",
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Otherwise the newest; made of all sources if there is none.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(PRESETS)}; otherwise the one that fits the release.",
        ),
    ] = None,
    recipe_file: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE", help="YAML, in place of a preset.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the recipe; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides order and dropout.")] = DEFAULT_SEED,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            help="Store the training without starting it, for another host or "
            "for several processes.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Finetune an encoder on a release and measure what it changed."""
    if preset and recipe_file:
        raise HedgerowError("Expected --preset or --recipe, found both; leave one of them out.")
    settings, engine = open_home()
    with writing(engine) as session:
        if recipe_file:
            base, chosen = read_recipe(recipe_file), ""
        else:
            base, chosen = _preset(plan(session, number), preset)
        recipe = with_full_paths(base.with_overrides(changes or []))
        run = request_training(
            session,
            release_number=number,
            seed=seed,
            recipe=recipe,
            requested_by=asked_by(session, settings),
        )
    if not as_json:
        for sentence in filter(None, [chosen, *cautions(recipe)]):
            err.print(text_of(sentence), soft_wrap=True)
    if queue:
        show(_queued(run), as_json, *_how_to_start(run))
        return
    if not as_json:
        _warn(settings, engine, run.parameters["release"], held=bool(recipe.retention))
    result = carry_out_run(settings, engine, run.id)
    show(result, as_json, *sentences(KIND, result))


def _preset(wanted: TrainingPlan, name: str | None) -> tuple[Recipe, str]:
    """The recipe of a preset, by default of the one that fits; and which one that is, and why."""
    chosen = named(name) if name else fitting(wanted)
    why = f". {chosen.purpose}" if name else f", since {reason(wanted)}."
    return recipe_for(chosen, wanted), f"Preset: {chosen.id}{why}"


def _warn(settings: Settings, engine: Engine, number: int, *, held: bool) -> None:
    """Say which benchmarks the release and the bundled texts share texts with, while there is
    time to stop.

    Args:
        held: whether the training holds the encoder in place with the bundled texts.
    """
    with reading(engine) as session, progress_bar() as report:
        found = compare(session, settings.data_folder, get_release(session, number), report=report)
        bundled = compare_bundled_texts(settings.data_folder, report=report) if held else []
    said = [told(entry.facts) for entry in found if entry.shares]
    if any(entry.shares for entry in bundled):
        said.append(bundled_texts_told([entry.facts for entry in bundled]))
    for sentence in said:
        err.print(text_of(sentence), soft_wrap=True)


def _queued(run: Run) -> dict[str, Any]:
    kept = {key: run.parameters[key] for key in ("release", "preset")}
    return {"run": run.id, "state": run.state, **kept}


def _how_to_start(run: Run) -> list[str]:
    return [
        f"Run {run.id} is stored and waits. Start it, here or on any host that reaches the "
        "database and the data folder:",
        f"  hedgerow run {run.id}",
        "or on several processes, one a GPU or a part of the cores:",
        f"  torchrun --nproc-per-node 2 -m training {run.id}",
    ]
