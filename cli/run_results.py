"""Carry out a stored run in this process; its state and results, for people and scripts."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from cli.terminal import table_of
from curation.formatting import counted
from curation.generation.judging.opinion_request import KIND as JUDGE
from curation.release.overlap_results import description, description_by_field
from db.engine import reading
from db.errors import RunIncomplete
from db.models import Run
from db.run_folders import log_file
from db.runs import get_run
from db.settings import Settings
from hedgerow.losses.families import Role
from hedgerow.running import carry_out, figures_so_far, located
from training.benchmarks.contamination import bundled_texts_description
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.evaluation.held_out import COSINE, STS
from training.finetune.curves import GENERAL, SHARES
from training.recipe.plan import KIND as TRAIN
from training.runs.kinds import kind_of
from training.runs.summaries import calls_made

# -- A run's state and results so far, as JSON for scripts and as sentences for people ------------


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
    return [" ".join(lines), *(details(result) if kind == TRAIN else [])]


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


# -- Carry out a stored run in this process and show its progress ---------------------------------


def carry_out_run(settings: Settings, engine: Engine, run_id: int) -> dict[str, Any]:
    """Carry out a stored run in this process and show its progress.

    Returns:
        Its number, its state and its result, with absolute paths.

    Raises:
        RunEnded: the run ended early; with its figures so far.
        RunIncomplete: the run is done, but some answers are missing; with its result.
    """
    facts = carry_out(settings, engine, run_id)
    if facts.get("complete", True):
        return facts
    with reading(engine) as session:
        sentence = incomplete(get_run(session, run_id), facts)
    lacking = RunIncomplete(sentence, run=run_id, state=facts["state"], message=sentence)
    lacking.facts |= facts
    raise lacking


# -- The results of a finished training on the command line ---------------------------------------


COSINES = {
    COSINE[Role.NEGATION]: "cosine of anchor and negation",
    COSINE[Role.UNSUPPORTED]: "cosine of anchor and unsupported variant",
    COSINE[Role.HEDGE]: "cosine of anchor and hedge",
    COSINE[Role.PARAPHRASE]: "cosine of anchor and paraphrase",
}


def details(result: dict[str, Any]) -> list[str | Table]:
    """A finished training as sentences: the held-out figures, and the path of the model."""
    lines: list[str | Table] = []
    if result["kept_step"] != result["steps"]:
        lines.append(f"The checkpoint after step {result['kept_step']:,} was the best and is kept.")
    if table := _figures(result["held_out"]):
        lines.append(table)
    if RETRIEVAL in result["held_out"]["after"]:
        lines.append(WHAT_IT_IS)
    for found in result.get("overlap") or ():
        lines += filter(None, [description(found), description_by_field(found)])
    lines += filter(None, [bundled_texts_description(result.get("bundled_overlap") or ())])
    return [*lines, f"The model is in {result['model']}."]


def _figures(held_out: dict[str, dict[str, float]]) -> Table | None:
    """The figures before and after; None if nothing was held out."""
    before, after = held_out["before"], held_out["after"]
    rows = [
        (label, _shown(name, before), _shown(name, after), held_out["of"].get(name, ""))
        for name, label in (SHARES | COSINES | GENERAL).items()
        if name in after
    ]
    return table_of("held out", "before", "after", "measured on", rows=rows) if rows else None


def _shown(name: str, figures: dict[str, float]) -> str:
    if name not in figures:
        return ""
    if name in SHARES:
        return f"{figures[name]:.1%}"
    return f"{100 * figures[name]:.1f}" if name == STS else f"{figures[name]:.3f}"
