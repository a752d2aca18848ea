"""Finetuning language models on question pairs, here or at a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home, takes
from cli.runs import carry_out_run, sentences
from cli.terminal import AsJson, DryRun, ReleaseNumber, RunId, show, table_of
from curation.formatting import counted
from curation.release.export.release_folder import read_manifest
from curation.release.export.table_rows import QuestionTable
from curation.release.question_pairs import Arm
from db.engine import reading
from db.errors import HedgerowError
from db.models import RunState
from db.named_files import resolved
from db.runs import get_run
from db.settings import Settings
from hedgerow.home import acting
from hedgerow.progress import err, text_of
from hedgerow.releases import export
from hedgerow.running import located
from training.llm.card import FIGURE_NAMES, SHARES, evaluations_of, shown
from training.llm.provider_request import FINETUNE_AT_PROVIDER, ProviderRequest
from training.llm.provider_request import KIND as AT_PROVIDER
from training.llm.provider_request import plan as plan_at_provider
from training.llm.request import (
    FINETUNE_LANGUAGE_MODEL,
    FinetuneLanguageModel,
    Forecast,
    LanguageTraining,
    plan,
)
from training.models.finetuned import LANGUAGE_MODEL_KIND
from training.studies.language_study import COMPARE_ARMS, ArmRow, arm_rows
from training.studies.members import trials

# -- training --------------------------------------------------------------------------------------


_LANGUAGE_TRAINING: dict[str, Any] = {
    "base": Annotated[str, typer.Option(metavar="MODEL")],
    "release": Annotated[int | None, typer.Option(metavar="N")],
    "recipe": Annotated[Path | None, typer.Option(metavar="FILE")],
    "settings": Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE")],
}


@takes(FinetuneLanguageModel, **_LANGUAGE_TRAINING)
def train_language_model(
    request: FinetuneLanguageModel,
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
    home = open_home()
    stored, found = plan(acting(home), request)
    facts = stored.model_dump(mode="json", include={"base", "release"}) | _in_json(found)
    if dry_run:
        show(facts, as_json, _plan_text(found))
        return
    run = FINETUNE_LANGUAGE_MODEL.perform(acting(home), request)
    if queue:
        started = f"Run {run.id} is stored. Start it with: hedgerow run {run.id}"
        show({"run": run.id, "state": run.state} | facts, as_json, _plan_text(found), started)
        return
    err.print(text_of(f"Run {run.id}: {_plan_text(found)}"), soft_wrap=True)
    result = carry_out_run(*home, run.id)
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


@takes(ProviderRequest, release=Annotated[int | None, typer.Option(metavar="N")], price=None)
def finetune_at_provider(
    request: ProviderRequest, dry_run: DryRun = False, as_json: AsJson = False
) -> None:
    """Finetune a language model on a release's question pairs at a provider with OpenAI's API, and
    wait for it. After an interruption, 'hedgerow run ID' continues.
    """
    home = open_home()
    if dry_run:
        found = plan_at_provider(acting(home), request)
        show(found.facts, as_json, *found.sentences())
        return
    result = carry_out_run(*home, FINETUNE_AT_PROVIDER.perform(acting(home), request).id)
    show(result, as_json, *sentences(AT_PROVIDER, result))


# -- Question pairs, and the study of their arms ---------------------------------------------------


# -- The arms of the paper's Table 3 as a study, carried out in this process ----------------------


MEASURED_ALIKE = (
    "All arms answer the same validation questions, about negations and hedges of any type."
)


@takes(LanguageTraining, **_LANGUAGE_TRAINING)
def compare_arms(request: LanguageTraining, as_json: AsJson = False) -> None:
    """Finetune on all, only negation and only hedging, and compare (the paper's Table 3)."""
    home = open_home()
    settings, engine = home
    run = COMPARE_ARMS.perform(acting(home), request)
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
        "seed": request.seed,
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
