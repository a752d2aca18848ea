"""Counts of the project for scripts, used by the terminal and over HTTP."""

from typing import Any

from sqlalchemy.orm import Session

from curation.anchors.lookup import count_in_use
from curation.encoders.registered import list_encoders
from curation.project.opening import ACTIVE_ENCODER, get_setting
from curation.release.contents import release_facts
from curation.release.freezing import list_releases
from curation.review.queue import status_counts
from curation.taxonomy.project_types import list_types
from db.failures import shown_address
from db.models import Encoder, Run, Status
from db.runs import list_runs, under_way
from db.settings import Settings

LAST_RUNS = 5


def project_counts(session: Session, settings: Settings) -> dict[str, Any]:
    """Anchors, variants by type and status, releases, runs and encoders, ready for JSON.

    Returns:
        ``runs`` has the last five runs, ``under_way`` all waiting and running ones. ``variants``
        includes types without variants, and retired types with variants.
    """
    counts = status_counts(session)
    known = [entry.id for entry in list_types(session)]
    active = get_setting(session, ACTIVE_ENCODER)
    return {
        "database": shown_address(session.get_bind().engine.url),
        "anchors": count_in_use(session),
        "variants": {
            name: {state.value: counts.get(name, {}).get(state, 0) for state in Status}
            for name in dict.fromkeys([*known, *sorted(counts)])
        },
        "releases": [release_facts(release) for release in list_releases(session)],
        "runs": [_run(run) for run in list_runs(session, limit=LAST_RUNS)],
        "under_way": [_run(run) for run in under_way(session)],
        "encoders": [
            _encoder(settings, encoder) | {"active": encoder.name == active}
            for encoder in list_encoders(session)
        ],
    }


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
