"""Finetuning a language model on a release's question pairs, carried out in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.llm.figures import figures_table
from cli.shared.home import asked_by, open_home
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import AsJson, ReleaseNumber, show
from curation.plurals import counted
from curation.release.question_pairs import Arm
from db.engine import reading, writing
from hedgerow.runs.progress import err, text_of
from training.llm.forecast import Forecast, forecast
from training.llm.recipe_text import chosen_recipe
from training.llm.request import KIND, LanguageRequest, request_language_finetuning, request_of
from training.runs.trainings import DEFAULT_SEED

BaseModelName = Annotated[
    str,
    typer.Option(
        "--base",
        metavar="MODEL",
        help="Folder of a causal language model, or its name on the model hub.",
    ),
]


def train_language_model(
    base: BaseModelName,
    number: ReleaseNumber = None,
    arm: Annotated[
        Arm | None,
        typer.Option(help="Variants for the questions. Default: the recipe's."),
    ] = None,
    recipe_file: Annotated[
        Path | None,
        typer.Option(
            "--recipe", metavar="FILE", help="YAML file with a recipe. Default: the paper's values."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key. Can be repeated."),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed for the sample, the order and the dropout.")
    ] = DEFAULT_SEED,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Also save the whole model with the adapter merged into it."),
    ] = False,
    queue: Annotated[
        bool,
        typer.Option("--queue", help="Store the run without starting it, for another host."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the number of pairs and steps.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Finetune a language model on the question pairs of a release, with LoRA."""
    settings, engine = open_home()
    recipe = chosen_recipe(recipe_file, changes or [], arm)
    with writing(engine) as session:
        run = request_language_finetuning(
            session,
            base=base,
            release_number=number,
            recipe=recipe,
            seed=seed,
            merge=merge,
            requested_by=asked_by(session, settings),
        )
        request = request_of(run)
        if dry_run:
            session.rollback()
    found = _forecast(engine, request)
    facts = request.model_dump(mode="json", include={"base", "release"}) | _in_json(found)
    if dry_run:
        show(facts, as_json, _plan_text(found))
        return
    if queue:
        started = f"Run {run.id} is stored. Start it with: hedgerow run {run.id}"
        show({"run": run.id, "state": run.state} | facts, as_json, _plan_text(found), started)
        return
    err.print(text_of(f"Run {run.id}: {_plan_text(found)}"), soft_wrap=True)
    result = carry_out_run(settings, engine, run.id)
    where = [f"The adapter is in {result['model']}."]
    if result["merged"]:
        where.append(f"The merged model is in {result['merged']}.")
    show(
        result,
        as_json,
        *sentences(KIND, result, more=False),
        *figures_table(result["looks"]),
        *where,
    )


def _forecast(engine: Engine, request: LanguageRequest) -> Forecast:
    with reading(engine) as session:
        return forecast(session, request.recipe, base=request.base, release_number=request.release)


def _in_json(found: Forecast) -> dict[str, Any]:
    return {
        "pairs": {"train": found.sampled, "validation": found.measured},
        "steps": found.steps,
        "seconds": None if found.seconds is None else round(found.seconds),
    }


def _plan_text(found: Forecast) -> str:
    """The number of pairs and steps, and the time if known."""
    summary = (
        f"{counted(found.sampled, 'question pair')} for training, {found.measured:,} for "
        f"evaluation; {counted(found.steps, 'step')}"
    )
    if found.seconds is None:
        return f"{summary}."
    minutes = max(1, round(found.seconds / 60))
    return f"{summary}, about {minutes} min judging by run {found.by_run}."
