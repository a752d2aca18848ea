"""Runs on the command line: listed, shown, cancelled, deleted."""

from typing import Annotated, Any

import typer
from rich.table import Table

from cli.shared.home import open_home
from cli.shared.run_facts import run_facts
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, counted, show
from db.engine import reading, writing
from db.models import RunState
from db.runs import get_run, list_runs, request_cancel
from training.runs.kinds import kind_of, require_kind
from training.runs.removal import delete_run

runs_app = typer.Typer(no_args_is_help=True, help="See the runs, and cancel or delete one.")

RunId = Annotated[
    int, typer.Argument(metavar="ID", min=1, max=LARGEST_NUMBER, help="The run's number.")
]


@runs_app.command("list")
def list_all(
    kind: Annotated[str, typer.Option(help="Only runs of this kind, such as 'train'.")] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_NUMBER, help="At most so many, the newest.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, the newest first, with their state and where their logs are."""
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


@runs_app.command("show")
def show_run(run_id: RunId, as_json: AsJson = False) -> None:
    """Show a run: its state, its figures so far, its log and its folder."""
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
        lines.append(f"It says: {facts['message']}")
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


@runs_app.command()
def cancel(run_id: RunId, as_json: AsJson = False) -> None:
    """Cancel a run: one that waits at once, one under way at its next step."""
    _, engine = open_home()
    with writing(engine) as session:
        state = request_cancel(session, run_id)
    said = {
        RunState.CANCELLED: f"Run {run_id} is cancelled.",
        RunState.RUNNING: f"Run {run_id} is asked to stop, and ends at its next step.",
    }
    told = said.get(state, f"Run {run_id} has ended already: it is {state}.")
    show({"run": run_id, "state": state.value, "message": told}, as_json, told)


@runs_app.command()
def delete(run_id: RunId, as_json: AsJson = False) -> None:
    """Delete a run with its folder, its figures and the model it made.
    A run whose model or texts are used elsewhere stays.
    """
    settings, engine = open_home()
    folders = delete_run(engine, settings, run_id)
    also = f", with {counted(len(folders) - 1, 'run')} of it" if len(folders) > 1 else ""
    show(
        {"run": run_id, "deleted": [str(folder) for folder in folders]},
        as_json,
        f"Run {run_id} is deleted{also}.",
    )
