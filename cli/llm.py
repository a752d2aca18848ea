"""Finetuning language models on question pairs, here or at a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy import Engine

from cli.options import BaseUrl, ModelName, as_option, asked_by, open_home
from cli.runs import carry_out_run, sentences
from cli.terminal import AsJson, DryRun, ReleaseNumber, RunId, show, table_of
from curation.formatting import counted
from curation.release.export.release_folder import read_manifest
from curation.release.export.table_rows import QuestionTable
from curation.release.question_pairs import Arm
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import RunState
from db.named_files import resolved
from db.runs import get_run
from db.settings import Settings
from hedgerow.language_models import plan_of, store_finetuning
from hedgerow.language_models import request_of as provider_request_of
from hedgerow.progress import err, text_of
from hedgerow.releases import export
from hedgerow.running import located
from training.encoder_run.trainings import DEFAULT_SEED
from training.llm.card import FIGURE_NAMES, SHARES, evaluations_of, shown
from training.llm.provider_request import KIND as AT_PROVIDER
from training.llm.provider_request import LARGEST_SEED, MOST_EPOCHS
from training.llm.recipe import chosen_recipe
from training.llm.request import (
    Forecast,
    LanguageRequest,
    forecast,
    request_language_finetuning,
    request_of,
)
from training.models.finetuned import LANGUAGE_MODEL_KIND
from training.studies.language_study import ArmRow, arm_rows, request_language_study
from training.studies.members import trials

# -- training --------------------------------------------------------------------------------------


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
        *sentences(LANGUAGE_MODEL_KIND, result, more=False),
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


# -- Metrics of a language model's finetuning ------------------------------------------------------


def show_language_finetuning(run_id: RunId, as_json: AsJson = False) -> None:
    """Show the metrics of a language model's finetuning by epoch."""
    settings, engine = open_home()
    with reading(engine) as session:
        run = get_run(session, run_id)
        if run.kind != LANGUAGE_MODEL_KIND:
            raise HedgerowError(
                f"Run {run_id} did not finetune a language model; 'hedgerow runs list --kind "
                f"{LANGUAGE_MODEL_KIND}' lists the runs that did."
            )
        found = evaluations_of(session, run)
    evaluations = [
        {"epoch": evaluation.epoch, "step": evaluation.step, **evaluation.figures}
        for evaluation in found
    ]
    result = located(settings, run.result) | {
        "run": run.id,
        "state": run.state.value,
        "recipe": run.parameters["recipe"],
        "looks": evaluations,
    }
    if run.state == RunState.DONE:
        where = f"The adapter is in {result['model']}."
        show(
            result,
            as_json,
            *sentences(LANGUAGE_MODEL_KIND, result, more=False),
            *figures_table(evaluations),
            where,
        )
        return
    progress = "these are its results so far" if evaluations else "nothing was measured yet"
    so_far = f"Run {run_id} is {run.state}; {progress}."
    show(result, as_json, so_far, *figures_table(evaluations))


def figures_table(evaluations: Sequence[Mapping[str, Any]]) -> list[Table]:
    """One row per evaluation; none if there was no evaluation."""
    if not evaluations:
        return []
    rows = (
        (
            f"{evaluation['epoch']:g}",
            evaluation["step"],
            *(shown(name, evaluation[name]) if name in evaluation else "" for name in FIGURE_NAMES),
        )
        for evaluation in evaluations
    )
    return [table_of("epoch", "step", *FIGURE_NAMES.values(), rows=rows)]


# -- The options that the commands about language models share -------------------------------------


ArmName = Annotated[
    Arm,
    typer.Option(
        help="Variants for the questions: all, those of the paper's six types, or, for an "
        "ablation, only negations or only hedges."
    ),
]


# -- Finetuning a language model at a provider: the estimate and the run ---------------------------


def finetune_at_provider(
    model: ModelName = "",
    base_url: BaseUrl = "",
    number: ReleaseNumber = None,
    arm: ArmName = "both",
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_EPOCHS, help="Number of epochs. Default: the provider chooses."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=LARGEST_SEED, help="Seed. Default: the provider chooses one."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Finetune a language model on a release's question pairs at a provider with OpenAI's API, and
    wait for it. After an interruption, 'hedgerow run ID' continues.
    """
    home = open_home()
    values = {"model": model, "base_url": base_url, "release": number, "arm": arm}
    request = provider_request_of(values | {"epochs": epochs, "seed": seed}, called=as_option)
    if dry_run:
        found = plan_of(home, request)
        show(found.facts, as_json, *found.sentences())
        return
    result = carry_out_run(*home, store_finetuning(home, request))
    show(result, as_json, *sentences(AT_PROVIDER, result))


# -- Question pairs, and the study of their arms ---------------------------------------------------


# -- The arms of the paper's Table 3 as a study, carried out in this process ----------------------


MEASURED_ALIKE = (
    "All arms answer the same validation questions, about negations and hedges of any type."
)


def compare_arms(
    base: BaseModelName,
    number: ReleaseNumber = None,
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
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = DEFAULT_SEED,
    as_json: AsJson = False,
) -> None:
    """Finetune on all, only negation and only hedging, and compare (the paper's Table 3)."""
    settings, engine = open_home()
    recipe = chosen_recipe(recipe_file, changes or [])
    with writing(engine) as session:
        run = request_language_study(
            session,
            base=base,
            release_number=number,
            recipe=recipe,
            seed=seed,
            requested_by=asked_by(session, settings),
        )
    notes = run.parameters["told"]
    err.print(
        text_of(f"Run {run.id}: {len(run.parameters['members'])} training runs."), soft_wrap=True
    )
    ended = carry_out_run(settings, engine, run.id)
    with reading(engine) as session:
        rows = arm_rows(trials(session, run))
    table = table_of(
        "run",
        "training",
        "state",
        "pairs",
        *(FIGURE_NAMES[name] for name in SHARES),
        rows=(
            (
                row.run.id,
                row.label,
                row.run.state,
                "–" if row.pairs is None else f"{row.pairs:,}",
                *(_change(row, name) for name in SHARES),
            )
            for row in rows
        ),
    )
    result = {
        "run": run.id,
        "state": ended["state"],
        "base": run.parameters["base"],
        "release": run.parameters["release"],
        "seed": seed,
        "members": [_as_json(settings, row) for row in rows],
        "told": notes,
    }
    show(result, as_json, table, MEASURED_ALIKE, *notes)


def _change(row: ArmRow, name: str) -> str:
    """A metric before and after."""
    if name not in row.after:
        return "–"
    return f"{shown(name, row.before[name])} → {shown(name, row.after[name])}"


def _as_json(settings: Settings, row: ArmRow) -> dict[str, Any]:
    kept = ("arm", "pairs", "steps", "before", "after", "model")
    result = located(settings, row.run.result)
    return {
        "run": row.run.id,
        "label": row.label,
        "state": row.run.state.value,
        "message": row.run.message,
        **{key: result[key] for key in kept if key in result},
    }


# -- A release as question pairs, in file formats for finetuning programs --------------------------


def pairs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new folder, or one of an earlier export.")
    ],
    number: ReleaseNumber = None,
    form: Annotated[
        QuestionTable,
        typer.Option(
            "--format",
            help="Chat messages, prompts and completions, or files for OpenAI's finetuning.",
        ),
    ] = "messages",
    arm: ArmName = "both",
    as_json: AsJson = False,
) -> None:
    """Write a release as Yes/No questions for finetuning a language model."""
    done = export(open_home(), number, folder, format=form, zipped=False, arm=arm)
    manifest = read_manifest(done.folder)
    result = {
        "release": done.release,
        "format": form,
        "arm": arm,
        "folder": str(resolved(done.folder)),
        "pairs": manifest["rows"][form],
        "notes": manifest["notes"],
    }
    where = f"The question pairs of release {done.release} are in {result['folder']}."
    show(result, as_json, where, *manifest["notes"])
