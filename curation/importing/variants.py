"""Importing variants from a file: what is wanted, what would happen, and doing it.

The page, the command and Python fill in the same request. Its plan only reads: it is the page's
preview and the command's dry run.
"""

import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from curation.diagnostics.measuring import start_measuring
from curation.gc_pause import collector_paused
from curation.importing.anchor_storing import About
from curation.importing.cells import Meanings
from curation.importing.column_roles import (
    check_roles,
    given_roles,
    guess_roles,
    types_by_name,
    with_given,
)
from curation.importing.staged import Staged
from curation.importing.staging import Report, stage
from curation.importing.variant_choices import Choices, check, undecided_by_role
from curation.importing.variant_plan import AT_ONCE
from curation.importing.variant_preview import Preview, preview
from curation.importing.variant_storing import Import, store_families
from curation.tables.files import Parts
from curation.tables.table import Table
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Run
from db.run_folders import run_folder
from db.runs import create_run
from db.settings import Settings


@dataclass(frozen=True)
class Request:
    """A file of variants to import.

    Attributes:
        parts: its files.
        table: their rows.
        about: source, licence, genre and language of anchors for which the file names none.
        roles: column → its role or type, for columns whose names don't show it.
        meanings: the meanings of verdicts, in addition to the known words.
        undecided: types for hedges and negations whose words don't show theirs. The others are
            left out.
        accept: let the model reviewer of the data set accept variants without a verdict.
        reviewer: the reviewer of verdicts for which the file names nobody.
    """

    parts: Parts
    table: Table
    about: About
    roles: Mapping[str, str] = field(default_factory=dict)
    meanings: Meanings = field(default_factory=dict)
    undecided: Sequence[str] = ()
    accept: bool = False
    reviewer: str = ""


@dataclass(frozen=True)
class Plan:
    """What a request would do.

    Attributes:
        choices: the checked choices, as stored with the run.
        staged: the contents of the file.
        preview: what is added, and what is left out.
    """

    choices: Choices
    staged: Staged
    preview: Preview


def read(
    request: Request, types: Mapping[str, VariantType], *, report: Report | None = None
) -> Staged:
    """Read every row of the file, without the database.

    Args:
        types: the project's types by id, including retired ones.

    Raises:
        HedgerowError: the roles of the columns are unclear, or the table is broken, names an
            unknown type, split or verdict, or has no variants; the message says where.
    """
    table, names = request.table, types_by_name(types.values())
    given = given_roles(request.roles, columns=table.columns, types=names, name=table.name)
    roles = with_given(guess_roles(table.columns, names), given)
    check_roles(roles, columns=table.columns, name=table.name)
    return stage(
        table,
        request.parts,
        roles=roles,
        types=types,
        meanings=request.meanings,
        language=request.about.language,
        report=report,
    )


def plan(session: Session, request: Request, staged: Staged) -> Plan:
    """What a request would do, without writing anything.

    Args:
        staged: the result of ``read`` for this request.

    Raises:
        HedgerowError: a type, a licence or a reviewer does not fit the project.
    """
    undecided = undecided_by_role(request.undecided, all_types(session))
    choices = Choices(request.about, undecided, request.accept, request.reviewer)
    return Plan(choices, staged, preview(session, staged, choices))


def add(
    session: Session, settings: Settings, planned: Plan, *, requested_by: int | None = None
) -> Run:
    """Store a run that adds what a plan shows. The caller carries it out.

    Args:
        requested_by: the signed-in person, if any.

    Raises:
        HedgerowError: as in ``plan``, or the data folder cannot be written.
    """
    return create_import(
        session, settings, planned.staged, planned.choices, requested_by=requested_by
    )


# -- The run that stores a file of variants, a few hundred anchors per transaction ----------------


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
