"""Training runs, carried out now or stored for later, and their changes as an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from cli.options import open_home, takes
from cli.runs import carry_out_run, sentences
from cli.terminal import LARGEST_NUMBER, MAX_DIGITS, AsJson, DryRun, show
from curation.release.freezing import get_release
from curation.release.overlap_results import description
from db.engine import reading
from db.models import Run
from db.settings import Settings
from hedgerow.home import acting
from hedgerow.progress import err, progress_bar, text_of
from training.benchmarks.contamination import (
    bundled_texts_description,
    compare,
    compare_bundled_texts,
)
from training.encoder_run.requesting import TRAIN, Plan, Train, plan
from training.hub.adapter_export import LARGEST, Written, source_in, source_of, write_adapter
from training.recipe.training_data import KIND

# -- Training runs on the command line, carried out now or stored for later ------------------------


@takes(
    Train,
    preset=Annotated[str | None, typer.Option(metavar="NAME")],
    recipe=Annotated[Path | None, typer.Option(metavar="FILE")],
    settings=Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE")],
)
def train_encoder(
    request: Train,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            help="Store the run without starting it, for another host or for several processes.",
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Finetune an encoder on a release and evaluate it before and after."""
    home = open_home()
    project = acting(home)
    if dry_run:
        planned = plan(project, request)
        show(_facts_of(planned), as_json, planned.why, *planned.sentences())
        return
    run, recipe, notes = TRAIN.perform(project, request)
    if not as_json:
        for sentence in notes:
            err.print(text_of(sentence), soft_wrap=True)
    if queue:
        show(_queued(run), as_json, *_how_to_start(run))
        return
    if not as_json:
        _warn(*home, run.parameters["release"], held=bool(recipe.retention))
    result = carry_out_run(*home, run.id)
    show(result, as_json, *sentences(KIND, result))


def _facts_of(planned: Plan) -> dict[str, Any]:
    return {
        "release": planned.data.release,
        "triples": planned.left.triples,
        "steps": planned.recipe.total_steps(planned.left.rows(planned.recipe)),
        "seconds": planned.time.seconds,
        "recipe": planned.recipe.model_dump(mode="json"),
        "dry_run": True,
    }


def _warn(settings: Settings, engine: Engine, number: int, *, held: bool) -> None:
    """Warn before training if the release or the bundled texts overlap with benchmarks.

    Args:
        held: whether the recipe uses retention with the bundled texts.
    """
    with reading(engine) as session, progress_bar() as report:
        found = compare(session, settings.data_folder, get_release(session, number), report=report)
        bundled = compare_bundled_texts(settings.data_folder, report=report) if held else []
    warnings = [description(entry.facts) for entry in found if entry.shares]
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


# -- Writing the changes of a training run as an adapter -------------------------------------------


def adapter(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the adapter.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="The number of a training run, or the folder of a model trained from the "
            "built-in encoder.",
        ),
    ],
    rank: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Rank of the change of each layer. Default: the run's LoRA rank, or the "
            f"largest that fits into {LARGEST // 1_000_000} MB.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Results for the card: lines from 'hedgerow benchmark --json' for the base and "
            "the adapter.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the changes of a training run as a small LoRA adapter of the base encoder.
    Hedgerow and peft can load it. Use its folder wherever you choose a model.
    """
    with progress_bar() as report:
        report(0, 0, "Comparing the weights.")
        if model.isascii() and model.isdecimal() and len(model) <= MAX_DIGITS:
            settings, engine = open_home()
            with reading(engine) as session:
                source = source_of(session, settings, int(model))
                written = write_adapter(source, folder, rank=rank, figures=figures)
        else:
            written = write_adapter(source_in(model), folder, rank=rank, figures=figures)
    show(_facts(written), as_json, _in_words(written))


def _facts(written: Written) -> dict[str, Any]:
    return written._asdict() | {"folder": str(written.folder)}


def _in_words(written: Written) -> str:
    return (
        f"The adapter is in {written.folder} ({written.size / 1e6:.1f} MB). At rank "
        f"{written.rank} it contains {written.share:.1%} of the change of all weights, and "
        f"{written.share_of_layers:.1%} of the change of the {written.layers} linear layers."
    )
