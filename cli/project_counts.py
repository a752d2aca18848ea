"""Count what the project contains."""

from typing import Any

from rich.table import Table

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.plurals import counted
from curation.project.counts import project_counts
from db.engine import reading
from db.models import Status
from training.runs.kinds import kind_of


def status(as_json: AsJson = False) -> None:
    """Count anchors, variants and releases, and list the latest runs and all unfinished ones."""
    settings, engine = open_home()
    with reading(engine) as session:
        result = project_counts(session, settings)
    there = [[name, *row.values()] for name, row in result["variants"].items() if any(row.values())]
    releases, encoders = result["releases"], result["encoders"]
    runs = {run["run"]: run for run in [*result["runs"], *result["under_way"]]}
    show(
        result,
        as_json,
        f"The database is {result['database']}.",
        f"It contains {counted(result['anchors'], 'anchor')} and "
        f"{counted(len(releases), 'release')}.",
        *([f"Measured with {'; '.join(e['name'] for e in encoders)}."] if encoders else []),
        *([table_of("type", *Status, rows=there)] if there else []),
        *([_run_table([runs[number] for number in sorted(runs, reverse=True)])] if runs else []),
    )


def _run_table(runs: list[dict[str, Any]]) -> Table:
    names = ("run", "kind", "state", "message")
    return table_of(
        *names,
        rows=(
            [run["run"], kind_of(run["kind"]).title, run["state"], run["message"]] for run in runs
        ),
    )
