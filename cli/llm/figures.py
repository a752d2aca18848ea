"""Metrics of a language model's finetuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from cli.shared.home import open_home
from cli.shared.run_facts import sentences
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, RunId, show
from db.engine import reading
from db.errors import HedgerowError
from db.models import RunState
from db.runs import get_run
from hedgerow.runs.running import located
from training.llm.card import shown
from training.llm.figures import NAMES, evaluations_of
from training.llm.request import KIND


def show_language_finetuning(run_id: RunId, as_json: AsJson = False) -> None:
    """Show the metrics of a language model's finetuning by epoch."""
    settings, engine = open_home()
    with reading(engine) as session:
        run = get_run(session, run_id)
        if run.kind != KIND:
            raise HedgerowError(
                f"Run {run_id} did not finetune a language model; 'hedgerow runs list --kind "
                f"{KIND}' lists the runs that did."
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
            *sentences(KIND, result, more=False),
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
            *(shown(name, evaluation[name]) if name in evaluation else "" for name in NAMES),
        )
        for evaluation in evaluations
    )
    return [table_of("epoch", "step", *NAMES.values(), rows=rows)]
