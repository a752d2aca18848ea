"""The list of runs."""

from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.run_facts import run_facts
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from db.engine import reading
from db.models import RunState
from db.runs import list_runs
from training.runs.kinds import kind_of, require_kind


def list_newest(
    kind: Annotated[str, typer.Option(help="Only runs of this kind, such as 'train'.")] = "",
    limit: Annotated[
        int,
        typer.Option(min=1, max=LARGEST_NUMBER, help="Maximum number of runs, the newest first."),
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first, with their state and log file."""
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
