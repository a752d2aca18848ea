"""Finetuning on NevIR's pairs, carried out in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.options import as_option, open_home
from cli.runs import carry_out_run, sentences
from cli.terminal import AsJson, RunId, show, table_of
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.tables.safe_csv import csv_bytes
from curation.validation import checked
from db.engine import reading
from db.errors import HedgerowError
from db.runs import get_run
from db.settings import Settings
from hedgerow.home import acting
from hedgerow.progress import err, text_of
from hedgerow.running import located
from training.finetune.curves import Evaluation
from training.models.finetuned import RANKER_KIND
from training.ranking.figures import (
    DOCUMENTS,
    HIGH,
    LOW,
    NAMES,
    NEVIR,
    RERANKING,
    SPREAD,
    WHAT_IT_IS,
    Finetuning,
    as_table,
    epochs_of,
    measured,
)
from training.ranking.pairs import PUBLISHED, keep_pairs_of, keep_untested, kept_pairs
from training.ranking.request import (
    ARCHITECTURES,
    FINETUNE_ON_PAIRS,
    RankingRequest,
    pair_counts,
    parts_asked,
    request_of,
    time_needed,
)

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
    home = open_home()
    settings, engine = home
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
    run = FINETUNE_ON_PAIRS.perform(acting(home), request)
    with reading(engine) as session:
        parts = parts_asked(settings.data_folder, request_of(run))
        guess = time_needed(session, settings, request_of(run), parts)
    pace = f"judging by run {guess.by_run}" if guess.by_run else "on two idle CPU cores"
    minutes = max(1, round(guess.seconds / 60))
    summary = f"Run {run.id}: {parts.counts.description}; about {minutes} min, {pace}."
    err.print(text_of(summary), soft_wrap=True)
    result = carry_out_run(settings, engine, run.id)
    with reading(engine) as session:
        table = epochs_table(epochs_of(session, get_run(session, run.id)))
    where = f"The model is in {result['model']}. Its name is {result['name']!r}."
    show(result, as_json, *sentences(RANKER_KIND, result, more=False), table, EXPLAINED, where)


def _kept(settings: Settings, data: str, validation: str) -> dict[str, Any]:
    """The files, stored in the project."""
    known = [] if data else kept_pairs(settings.data_folder)
    train = known[0] if known else keep_pairs_of(settings.data_folder, data or PUBLISHED)
    files = {"data": train.file, "data_name": train.name}
    if validation:
        held_out = keep_pairs_of(settings.data_folder, validation)
        files |= {"validation": held_out.file, "validation_name": held_out.name}
    return files


# -- Evaluations after each epoch of finetuning on NevIR's pairs -----------------------------------


EXPLAINED = f"Epoch 0 is the base model. {WHAT_IT_IS}"

SHOWN = (NEVIR, LOW, RERANKING, DOCUMENTS, SPREAD)
"""Columns of the table for people; ``--json`` and ``--csv`` also have the quantiles."""

TITLES = {**NAMES, LOW: "95% interval"}
"""In this table, an interval is one column."""


def show_finetuning(
    run_id: RunId,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the numbers to a CSV file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show NevIR, retrieval and the documents' cosines by epoch (Figures 5 and 8)."""
    settings, engine = open_home()
    with reading(engine) as session:
        run = get_run(session, run_id)
        if run.kind != RANKER_KIND:
            raise HedgerowError(
                f"Expected the number of a run on NevIR's pairs, but run {run_id} is not one."
            )
        epochs = epochs_of(session, run)
        counts = pair_counts(settings.data_folder, run)
    if csv is not None:
        csv.write_bytes(csv_bytes(*as_table([Finetuning(run, epochs)])))
    result: dict[str, Any] = located(settings, run.result) | {
        "run": run.id,
        "state": run.state.value,
        "pairs": counts._asdict() if counts else None,
        "epochs": [{"epoch": e.epoch, "step": e.step, **e.figures} for e in epochs],
    }
    lines = [f"Pairs: {counts.description}."] if counts else []
    if not epochs:
        lines = [f"Run {run_id} is {run.state}; nothing was measured yet.", *lines]
        show(result, as_json, *lines)
        return
    show(result, as_json, *lines, epochs_table(epochs), EXPLAINED)


def epochs_table(epochs: Sequence[Evaluation]) -> Any:
    """One row per epoch, for people."""
    names = [name for name in measured(epochs) if name in SHOWN]
    return table_of(
        "epoch",
        *(TITLES[name] for name in names),
        rows=((epoch.epoch, *(_shown(epoch, name) for name in names)) for epoch in epochs),
    )


def _shown(epoch: Evaluation, name: str) -> str:
    if name not in epoch.figures:
        return ""
    if name == LOW:
        return f"{epoch.figures[LOW]:.1%} to {epoch.figures[HIGH]:.1%}"
    return f"{epoch.figures[name]:.1%}" if name == NEVIR else f"{epoch.figures[name]:.3f}"
