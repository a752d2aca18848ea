"""Carry out a stored run in this process; its state and results, for people and scripts."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from cli.options import open_home
from cli.terminal import LARGEST_NUMBER, AsJson, RunId, show, table_of
from curation.formatting import counted
from curation.generation.judging.opinion_request import KIND as JUDGE
from curation.generation.request import KIND as GENERATE
from curation.release.overlap_results import description, description_by_field
from db.engine import reading, writing
from db.errors import RunIncomplete
from db.models import Run, RunState
from db.run_process import log_file
from db.runs import get_run, list_runs
from db.settings import Settings
from hedgerow.running import carry_out, figures_so_far, located
from training.benchmarks.contamination import bundled_texts_description
from training.evaluation.general_ability import RETRIEVAL, WHAT_IT_IS
from training.evaluation.held_out import COSINE, STS
from training.finetune.curves import GENERAL, SHARES
from training.losses.families import Role
from training.recipe.training_data import KIND as TRAIN
from training.runs.kinds import cancel_run, kind_of, require_kind
from training.runs.removal import delete_run
from training.runs.summaries import calls_made

# -- A run's state and results so far, as JSON for scripts and as sentences for people -------------


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


# -- Carry out a stored run in this process and show its progress ----------------------------------


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


# -- The results of a finished training on the command line ----------------------------------------


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


# -- Carry out a stored run by its number ----------------------------------------------------------


def run_stored(
    run_id: RunId,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="USD", help="A new spending cap in US dollars, for runs that call a model."
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST_NUMBER,
            help="A new cap on the number of calls, for runs that call a model.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Carry out a stored run in this process."""
    # They load the client of chat models; every command that reports on runs would wait for it.
    from curation.generation.budget import raise_budget  # noqa: PLC0415
    from curation.generation.run import check_alone  # noqa: PLC0415

    settings, engine = open_home()
    if budget is not None or max_calls is not None:
        with writing(engine) as session:
            raise_budget(session, run_id, money=budget, calls=max_calls)
    with reading(engine) as session:
        kind = get_run(session, run_id).kind
        if kind == GENERATE:
            check_alone(session, run_id)
    result = carry_out_run(settings, engine, run_id)
    show(result, as_json, *sentences(kind, result))


# -- List the runs ---------------------------------------------------------------------------------


def list_newest(
    kind: Annotated[str, typer.Option(help="Only runs of this kind, such as 'train'.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_NUMBER, help="Maximum number of runs, newest first.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first, with their state and the path of their logs."""
    if kind:
        require_kind(kind)
    settings, engine = open_home()
    with reading(engine) as session:
        found = list_runs(session, kind=kind or None, limit=limit)
        runs = [run_facts(session, settings, run) for run in found]
    table = table_of("run", "kind", "state", "done", "message", "log", rows=map(_row, runs))
    show({"runs": runs}, as_json, table if runs else "There are no runs yet.")


def _row(facts: dict[str, Any]) -> list[Any]:
    title = kind_of(facts["kind"]).title
    log = facts["log"] or ""
    return [facts["run"], title, facts["state"], _done(facts), facts["message"], log]


def _done(facts: dict[str, Any]) -> str:
    if facts["state"] == RunState.DONE:
        return "100%"
    return f"{facts['step'] / facts['total']:.0%}" if facts["total"] else "–"


# -- Show one run ----------------------------------------------------------------------------------


def show_run(run_id: RunId, as_json: AsJson = False) -> None:
    """Show a run's state, figures so far, log and folder."""
    settings, engine = open_home()
    with reading(engine) as session:
        facts = run_facts(session, settings, get_run(session, run_id))
    show(facts, as_json, *_in_words(facts))


def _in_words(facts: dict[str, Any]) -> list[str | Table]:
    times = ", ".join(
        f"{verb} at {facts[key][:16].replace('T', ' ')}"
        for verb, key in (
            ("stored", "created_at"),
            ("begun", "started_at"),
            ("ended", "finished_at"),
        )
        if facts[key]
    )
    lines: list[str | Table] = [
        f"Run {facts['run']} ({kind_of(facts['kind']).title}) is {facts['state']}; {times} (UTC)."
    ]
    if facts["state"] != RunState.DONE and facts["message"]:
        lines.append(f"Message: {facts['message']}")
    if rows := [*_scalars(facts["figures"]), *_scalars(facts["result"])]:
        lines.append(table_of("figure", "value", rows=rows))
    if facts["folder"]:
        lines += [f"Its log is {facts['log']}.", f"Its folder is {facts['folder']}."]
    return lines


def _scalars(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " "), f"{value:,.6g}" if isinstance(value, float) else str(value))
        for name, value in values.items()
        if isinstance(value, str | int | float) and name != "run"
    ]


# -- Cancel a run ----------------------------------------------------------------------------------


def cancel(run_id: RunId, as_json: AsJson = False) -> None:
    """Cancel a run: a waiting run at once, a running one at its next step."""
    settings, engine = open_home()
    state = cancel_run(engine, settings, run_id)
    messages = {
        RunState.CANCELLED: f"Run {run_id} is cancelled.",
        RunState.RUNNING: f"Run {run_id} will stop at its next step.",
    }
    message = messages.get(state, f"Run {run_id} has already ended: it is {state}.")
    show({"run": run_id, "state": state.value, "message": message}, as_json, message)


# -- Delete a run ----------------------------------------------------------------------------------


def delete(run_id: RunId, as_json: AsJson = False) -> None:
    """Delete a run with its folder, figures and model. A run whose model or texts are used
    elsewhere cannot be deleted.
    """
    settings, engine = open_home()
    folders = delete_run(engine, settings, run_id)
    also = (
        f", with {counted(len(folders) - 1, 'run')} that belong to it" if len(folders) > 1 else ""
    )
    show(
        {"run": run_id, "deleted": [str(folder) for folder in folders]},
        as_json,
        f"Run {run_id} is deleted{also}.",
    )
