"""A run's state and results so far, as JSON for scripts and as sentences for people."""

from typing import Any

from rich.table import Table
from sqlalchemy.orm import Session

from cli.shared.trained import details as training_details
from curation.generation.judging.opinion_request import KIND as JUDGE
from curation.plurals import counted
from db.models import Run
from db.run_folders import log_file
from db.settings import Settings
from hedgerow.runs.running import figures_so_far, located
from training.recipe.plan import KIND as TRAIN
from training.runs.kinds import kind_of
from training.runs.summaries import calls_made


def run_facts(session: Session, settings: Settings, run: Run) -> dict[str, Any]:
    """The ``--json`` output for a run in any state, with its figures so far.

    Paths are absolute, or None for an import that had no separate process. Times are ISO 8601 in
    UTC, or None if not reached yet.
    """
    return {
        "run": run.id,
        "kind": run.kind,
        "state": run.state.value,
        "message": run.message,
        "step": run.step,
        "total": run.total,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "folder": str(settings.data_folder / run.folder) if run.folder else None,
        "log": str(log_file(settings, run)) if run.folder else None,
        "figures": figures_so_far(session, run),
        "result": located(settings, run.result),
    }


def sentences(kind: str, result: dict[str, Any], *, more: bool = True) -> list[str | Table]:
    """The results of a finished run, as sentences.

    Args:
        kind: the run's kind, as stored.
        result: the run's result, with its number as ``run`` and with absolute paths.
        more: mention the command that shows the rest.
    """
    found = kind_of(kind)
    lines = [f"Run {result['run']} is done."]
    if not (brought := found.sum_up(result)):
        return [*lines]
    lines.append(brought)
    if more and found.command:
        lines.append(f"For details, run '{found.command.format(**result)}'.")
    return [" ".join(lines), *(training_details(result) if kind == TRAIN else [])]


def incomplete(run: Run, result: dict[str, Any]) -> str:
    """Say which answers of a run are missing, and how to ask for them again."""
    missing = ", ".join(
        f"{name} in {counted(n, 'answer')}" for name, n in result.get("missing", {}).items()
    )
    lacking = f" Missing types: {missing}." if missing else ""
    who = f"--model {run.parameters['model']}"
    if address := run.parameters["base_url"]:
        who += f" --base-url {address}"
    again = (
        _rest_of_opinions(run, who)
        if run.kind == JUDGE
        else f"'hedgerow generate --which failed --run {run.id} {who}' repeats the missing calls."
    )
    return f"Run {result['run']} is done, but incomplete: {calls_made(result)}{lacking} {again}"


def _rest_of_opinions(run: Run, who: str) -> str:
    if run.parameters.get("repeats"):
        return "Failed calls are not included in the figures."
    return f"'hedgerow review judge {who}' repeats the failed calls."
