"""Evaluations after each epoch of finetuning on NevIR's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, RunId, show
from curation.tables.spreadsheets import csv_bytes
from db.engine import reading
from db.errors import HedgerowError
from db.runs import get_run
from hedgerow.runs.running import located
from training.models.rankers import KIND
from training.ranking.epochs import (
    NAMES,
    SPREAD,
    EpochFigures,
    Finetuning,
    as_table,
    epochs_of,
    measured,
)
from training.ranking.figures import DOCUMENTS, HIGH, LOW, NEVIR
from training.ranking.request import pair_counts
from training.ranking.reranking import RERANKING, WHAT_IT_IS

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
        if run.kind != KIND:
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


def epochs_table(epochs: Sequence[EpochFigures]) -> Any:
    """One row per epoch, for people."""
    names = [name for name in measured(epochs) if name in SHOWN]
    return table_of(
        "epoch",
        *(TITLES[name] for name in names),
        rows=((epoch.epoch, *(_shown(epoch, name) for name in names)) for epoch in epochs),
    )


def _shown(epoch: EpochFigures, name: str) -> str:
    if name not in epoch.figures:
        return ""
    if name == LOW:
        return f"{epoch.figures[LOW]:.1%} to {epoch.figures[HIGH]:.1%}"
    return f"{epoch.figures[name]:.1%}" if name == NEVIR else f"{epoch.figures[name]:.3f}"
