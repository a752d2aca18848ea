"""Carry out, list, show, cancel and delete runs."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.options import open_home
from cli.run_results import carry_out_run, run_facts, sentences
from cli.terminal import LARGEST_NUMBER, AsJson, RunId, show, table_of
from curation.formatting import counted
from curation.generation.choices import raise_budget
from curation.generation.request import KIND as GENERATE
from curation.generation.run import check_alone
from db.engine import reading, writing
from db.models import RunState
from db.runs import get_run, list_runs
from training.runs.kinds import cancel_run, kind_of, require_kind
from training.runs.removal import delete_run

# -- Carry out a stored run by its number ---------------------------------------------------------


def carry_out(
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


# -- List the runs --------------------------------------------------------------------------------


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


# -- Show one run ---------------------------------------------------------------------------------


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


# -- Cancel a run ---------------------------------------------------------------------------------


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


# -- Delete a run ---------------------------------------------------------------------------------


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
