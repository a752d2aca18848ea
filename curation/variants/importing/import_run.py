"""The run that stores a file of variants, a few hundred anchors per transaction.

The whole file has been read and checked before. Others can write in the meantime. A run that stops
early has stored complete anchors, each with all its variants and verdicts; resuming it adds the
rest.
"""

import shutil
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from curation.diagnostics.measuring import start_measuring
from curation.gc_pause import collector_paused
from curation.variants.importing.choices import Choices, check
from curation.variants.importing.plan import AT_ONCE
from curation.variants.importing.staged import Staged
from curation.variants.importing.storing import Import, store_families
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Run
from db.run_folders import run_folder
from db.runs import create_run
from db.settings import Settings

KIND = "import-variants"

_ROWS = "rows.sqlite"
"""The contents of the file, in the run's folder. It is deleted when everything is stored."""


def create_import(
    session: Session,
    settings: Settings,
    staged: Staged,
    choices: Choices,
    *,
    requested_by: int | None = None,
) -> Run:
    """Store a run that imports a file, and keep the file's contents for it.

    Raises:
        HedgerowError: as in ``plan.check``, or the data folder cannot be written.
    """
    check(session, staged, choices)
    parameters: dict[str, Any] = choices.as_parameters() | {"actions": str(uuid.uuid4())}
    facts = staged.facts
    run = create_run(
        session,
        kind=KIND,
        parameters=parameters,
        inputs={"file": facts.name, "sha256": facts.content_hash},
        requested_by=requested_by,
    )
    place = run_folder(settings, run) / _ROWS
    try:
        shutil.copyfile(staged.path, place)
    except OSError as error:
        raise HedgerowError(
            f"The file {place} cannot be written ({error.strerror or error}); free some space or "
            "check the permissions of the folder."
        ) from error
    return run


def work(context: RunContext) -> Result:
    """Carry out a run of this kind.

    Returns:
        ``anchors``, ``variants`` and ``decisions`` added; ``types`` (type id → variants) and
        ``verdicts`` (reviewer → decisions); ``left_out`` (reason → number); ``file``; ``source``.
    """
    path: Path = context.folder / _ROWS
    if not path.exists():
        raise HedgerowError("The rows of this import no longer exist; import the file again.")
    staged, choices = Staged(path), Choices.from_parameters(context.parameters)
    with reading(context.engine) as session:
        check(session, staged, choices)
    into = Import(
        context.run.id,
        staged.facts.name,
        staged.facts.content_hash,
        context.parameters["actions"],
        context.run.requested_by,
    )
    anchors, done = 0, 0
    types: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    left_out = Counter(staged.facts.left_out)
    for families in staged.families(AT_ONCE):
        context.update(done, staged.anchors, f"Importing {staged.facts.name}.")
        with collector_paused(), writing(context.engine) as session:
            stored = store_families(session, families, choices, into)
        anchors += stored.anchors
        types.update(stored.types)
        verdicts.update(stored.verdicts)
        left_out.update(stored.left_out)
        done += len(families)
        context.beat()  # otherwise the heartbeat may find no gap between two writing parts
    path.unlink()
    if types:
        start_measuring(context)
    return {
        "file": staged.facts.name,
        "source": choices.about.source,
        "anchors": anchors,
        "variants": types.total(),
        "types": dict(types),
        "decisions": verdicts.total(),
        "verdicts": dict(verdicts),
        "left_out": {str(reason): count for reason, count in left_out.items()},
    }
