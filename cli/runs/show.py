"""One run: its state, its metrics, and its log file."""

from typing import Any

from rich.table import Table

from cli.shared.home import open_home
from cli.shared.run_facts import run_facts
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, RunId, show
from db.engine import reading
from db.models import RunState
from db.runs import get_run
from training.runs.kinds import kind_of


def show_run(run_id: RunId, as_json: AsJson = False) -> None:
    """Show a run: its state, its latest metrics, its log file and its folder."""
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
