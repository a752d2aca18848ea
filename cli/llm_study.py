"""The arms of the paper's Table 3 as a study, and a release as question pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.llm import ArmName, BaseModelName
from cli.options import asked_by, open_home
from cli.run_results import carry_out_run
from cli.terminal import AsJson, ReleaseNumber, show, table_of
from curation.release.export.release_folder import read_manifest
from curation.release.export.table_rows import QuestionTable
from db.engine import reading, writing
from db.named_files import resolved
from db.settings import Settings
from hedgerow.data.releases import export
from hedgerow.progress import err, text_of
from hedgerow.running import located
from training.encoder_run.trainings import DEFAULT_SEED
from training.llm.card import FIGURE_NAMES, SHARES, shown
from training.llm.recipe import chosen_recipe
from training.studies.language_study import ArmRow, arm_rows, request_language_study
from training.studies.members import trials

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


# -- A release as question pairs, in file formats for finetuning programs -------------------------


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
