"""Counting what the project holds."""

from typing import Any

from rich.table import Table

from cli.release import release_facts
from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.anchors.lookup import count_in_use
from curation.encoders.registered import list_encoders
from curation.plurals import counted
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.release.freezing import list_releases
from curation.review.queue import status_counts
from curation.taxonomy.project_types import list_types
from db.engine import reading
from db.failures import shown_address
from db.models import Encoder, Run, Status
from db.runs import list_runs
from db.settings import Settings
from hedgerow.releases import Release
from training.runs.kinds import kind_of

LAST_RUNS = 5


def status(as_json: AsJson = False) -> None:
    """Count anchors, variants and releases, and name the last runs."""
    settings, engine = home = open_home()
    with reading(engine) as session:
        counts = status_counts(session)
        known = [entry.id for entry in list_types(session)]
        anchors = count_in_use(session)
        releases = [release_facts(Release(home, row)) for row in list_releases(session)]
        runs = [_run(run) for run in list_runs(session, limit=LAST_RUNS)]
        active = get_setting(session, ACTIVE_ENCODER)
        encoders = [
            _encoder(settings, encoder) | {"active": encoder.name == active}
            for encoder in list_encoders(session)
        ]
    variants = {
        name: {state.value: counts.get(name, {}).get(state, 0) for state in Status}
        for name in dict.fromkeys([*known, *sorted(counts)])
    }
    result = {
        "database": shown_address(engine.url),
        "anchors": anchors,
        "variants": variants,
        "releases": releases,
        "runs": runs,
        "encoders": encoders,
    }
    there = ([name, *row.values()] for name, row in variants.items() if name in counts)
    show(
        result,
        as_json,
        f"The database is {shown_address(engine.url)}.",
        f"It holds {counted(anchors, 'anchor')} and {counted(len(releases), 'release')}.",
        *([f"Measured with {', '.join(e['name'] for e in encoders)}."] if encoders else []),
        *([table_of("type", *Status, rows=there)] if counts else []),
        *([_run_table(runs)] if runs else []),
    )


def _encoder(settings: Settings, encoder: Encoder) -> dict[str, Any]:
    path = str(settings.data_folder / encoder.path) if encoder.path else ""
    return {"name": encoder.name, "path": path}


def _run(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "kind": run.kind,
        "state": run.state.value,
        "step": run.step,
        "total": run.total,
        "message": run.message,
        "created_at": run.created_at.isoformat(),
    }


def _run_table(runs: list[dict[str, Any]]) -> Table:
    names = ("run", "kind", "state", "message")
    return table_of(
        *names,
        rows=(
            [run["run"], kind_of(run["kind"]).title, run["state"], run["message"]] for run in runs
        ),
    )
