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
from training.llm.figures import NAMES, looks_of
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
        found = looks_of(session, run)
    looks = [{"epoch": look.epoch, "step": look.step, **look.figures} for look in found]
    result = located(settings, run.result) | {
        "run": run.id,
        "state": run.state.value,
        "recipe": run.parameters["recipe"],
        "looks": looks,
    }
    if run.state == RunState.DONE:
        where = f"The adapter is in {result['model']}."
        show(result, as_json, *sentences(KIND, result, more=False), *figures_table(looks), where)
        return
    said = "these are its results so far" if looks else "nothing was measured yet"
    so_far = f"Run {run_id} is {run.state}; {said}."
    show(result, as_json, so_far, *figures_table(looks))


def figures_table(looks: Sequence[Mapping[str, Any]]) -> list[Table]:
    """One row per evaluation; none if there was no evaluation."""
    if not looks:
        return []
    rows = (
        (
            f"{look['epoch']:g}",
            look["step"],
            *(shown(name, look[name]) if name in look else "" for name in NAMES),
        )
        for look in looks
    )
    return [table_of("epoch", "step", *NAMES.values(), rows=rows)]
