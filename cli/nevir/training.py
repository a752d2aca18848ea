"""Finetuning on NevIR's pairs, carried out in this process."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.nevir.figures import EXPLAINED, epochs_table
from cli.shared.home import asked_by, open_home
from cli.shared.options import as_option
from cli.shared.run_facts import sentences
from cli.shared.run_here import carry_out_run
from cli.shared.terminal import AsJson, show
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.validation import checked
from db.engine import reading, writing
from db.runs import get_run
from db.settings import Settings
from hedgerow.runs.progress import err, text_of
from training.models.rankers import KIND
from training.ranking.epochs import epochs_of
from training.ranking.pairs import PUBLISHED, keep_pairs_of, keep_untested, kept_pairs
from training.ranking.request import (
    ARCHITECTURES,
    RankingRequest,
    parts_asked,
    request_finetuning,
    request_of,
)
from training.ranking.time_needed import estimate

DEFAULT = RankingRequest(data="-")


def train_on_pairs(
    data: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Pairs in NevIR's format, or hf:owner/name/file. Default: the latest file, or "
            "NevIR's train split on the model hub.",
        ),
    ] = "",
    validation: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Pairs for evaluation. Default: a fifth of the passages is held out.",
        ),
    ] = "",
    base: Annotated[
        str, typer.Option(metavar="MODEL", help="Folder or name of the model to start from.")
    ] = DEFAULT_ENCODER,
    architecture: Annotated[
        str, typer.Option(help=f"One of {', '.join(ARCHITECTURES)}. Default: the base model's own.")
    ] = "",
    epochs: Annotated[int, typer.Option(help="Passes over the pairs.")] = DEFAULT.epochs,
    learning_rate: Annotated[
        float, typer.Option(help="Peak learning rate.")
    ] = DEFAULT.learning_rate,
    batch_size: Annotated[
        int,
        typer.Option(help="Triples per step; for a cross-encoder, pairs of query and document."),
    ] = DEFAULT.batch_size,
    max_length: Annotated[
        int, typer.Option(help="Maximum number of tokens of a training text.")
    ] = DEFAULT.max_length,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed for the order of the data, the dropout and the initial values of new "
            "weights."
        ),
    ] = DEFAULT.seed,
    max_pairs: Annotated[
        int | None, typer.Option(help="Train on a random sample of this many pairs. Default: all.")
    ] = None,
    leave_out_tested: Annotated[
        bool,
        typer.Option(
            "--leave-out-tested",
            help="Leave out pairs whose passages are in this project's NevIR benchmark data. "
            "Otherwise such a file is refused.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Finetune a model on NevIR's pairs, and evaluate it after each epoch."""
    settings, engine = open_home()
    values = {
        "base": base.strip(),
        "architecture": architecture,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "max_length": max_length,
        "seed": seed,
        "max_pairs": max_pairs,
    }
    checked(RankingRequest, {"data": "-", **values}, called=as_option)  # before a download
    files = _kept(settings, data, validation)
    if leave_out_tested:
        rest = keep_untested(settings.data_folder, files["data"], name=files["data_name"])
        files |= {"data": rest.file, "data_name": rest.name}
    request = checked(RankingRequest, files | values, called=as_option)
    with writing(engine) as session:
        run = request_finetuning(
            session, settings, request, requested_by=asked_by(session, settings)
        )
    with reading(engine) as session:
        parts = parts_asked(settings.data_folder, request_of(run))
        guess = estimate(session, settings, request_of(run), parts)
    pace = f"judging by run {guess.by_run}" if guess.by_run else "on two idle CPU cores"
    minutes = max(1, round(guess.seconds / 60))
    summary = f"Run {run.id}: {parts.counts.description}; about {minutes} min, {pace}."
    err.print(text_of(summary), soft_wrap=True)
    result = carry_out_run(settings, engine, run.id)
    with reading(engine) as session:
        table = epochs_table(epochs_of(session, get_run(session, run.id)))
    where = f"The model is in {result['model']}. Its name is {result['name']!r}."
    show(result, as_json, *sentences(KIND, result, more=False), table, EXPLAINED, where)


def _kept(settings: Settings, data: str, validation: str) -> dict[str, Any]:
    """The files, stored in the project."""
    known = [] if data else kept_pairs(settings.data_folder)
    train = known[0] if known else keep_pairs_of(settings.data_folder, data or PUBLISHED)
    files = {"data": train.file, "data_name": train.name}
    if validation:
        held_out = keep_pairs_of(settings.data_folder, validation)
        files |= {"validation": held_out.file, "validation_name": held_out.name}
    return files
