"""The action *import variants*: the request, what it would do with a file, and doing it."""

import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Request
from curation.diagnostics.measuring import start_measuring
from curation.importing.anchor_rows import MAX_SOURCE, About
from curation.importing.cells import Meanings, parse_meanings
from curation.importing.column_roles import (
    check_roles,
    given_roles,
    guess_roles,
    parse_roles,
    types_by_name,
    with_given,
)
from curation.importing.staged import Staged
from curation.importing.staging import stage
from curation.importing.variant_choices import Choices, check, undecided_by_role
from curation.importing.variant_plan import AT_ONCE
from curation.importing.variant_preview import Counts, Preview, preview
from curation.importing.variant_storing import Import, store_families
from curation.tables.files import Parts
from curation.tables.table import Table
from curation.taxonomy.project_types import all_types
from db.engine import collector_paused, reading, writing
from db.errors import HedgerowError
from db.execution import Result, RunContext
from db.models import Run
from db.run_process import run_folder
from db.runs import create_run
from db.settings import Settings


def _roles(given: Mapping[str, str] | Sequence[str]) -> Mapping[str, str]:
    return given if isinstance(given, Mapping) else parse_roles(given)


def _meanings(given: Meanings | Mapping[str, str] | Sequence[str]) -> Meanings:
    if isinstance(given, Mapping):
        given = [f"{word}={meaning or 'none'}" for word, meaning in given.items()]
    return parse_meanings(given)


class ImportVariants(Request):
    """How to import the variants of a file with their anchors, types, cues and verdicts."""

    mapping: Annotated[Mapping[str, str], BeforeValidator(_roles)] = Field(default_factory=dict)
    """A role (anchor, text, type, cue, verdict, hedge, negation, ignore and so on) or a variant
    type for a column whose name is not recognised."""

    undecided: tuple[str, ...] = ()
    """Type for hedges or negations whose type is unknown (default: leave them out)."""

    verdicts: Annotated[Meanings, BeforeValidator(_meanings)] = Field(default_factory=dict)
    """The meaning of a verdict value in the file."""

    reviewer: str = ""
    """Reviewer for verdicts without a reviewer name."""

    accept: bool = False
    """Accept variants without a verdict."""

    source: str = ""
    """Source of anchors without one (default: the file's name)."""

    licence: str | None = None
    """Licence of that source, such as 'CC BY 4.0'."""

    genre: str = ""
    """Genre of anchors without one."""

    language: str = "en"
    """Language of anchors without one, such as 'de-CH'."""


class VariantFile(NamedTuple):
    """The files of an import, and their rows.

    Attributes:
        source: the name of their source if the request names none.
    """

    parts: Parts
    table: Table
    source: str = ""


@dataclass(frozen=True)
class Plan:
    """What a request would do.

    Attributes:
        choices: the checked choices, as stored with the run.
        table: the file, as it was read.
        staged: the contents of the file.
        preview: what is added, and what is left out.
    """

    choices: Choices
    table: Table
    staged: Staged
    preview: Preview


def read(project: OpenProject, request: ImportVariants, file: VariantFile) -> Staged:
    """Read every row of the file.

    Raises:
        HedgerowError: the roles of the columns are unclear, or the table is broken, names an
            unknown type, split or verdict, or has no variants; the message says where.
    """
    with reading(project.engine) as session:
        types = all_types(session)
    table, names = file.table, types_by_name(types.values())
    given = given_roles(request.mapping, columns=table.columns, types=names, name=table.name)
    roles = with_given(guess_roles(table.columns, names), given)
    check_roles(roles, columns=table.columns, name=table.name)
    return stage(
        table,
        file.parts,
        roles=roles,
        types=types,
        meanings=request.verdicts,
        language=request.language,
        report=project.report,
    )


def plan(
    project: OpenProject,
    request: ImportVariants,
    file: VariantFile,
    *,
    staged: Staged | None = None,
) -> Plan:
    """What a request would do, without writing anything.

    Args:
        staged: the result of ``read`` for the same file and columns.

    Raises:
        HedgerowError: as in ``read``, or a type, a licence or a reviewer does not fit the project.
    """
    staged = staged or read(project, request, file)
    named_source = request.source or file.source[:MAX_SOURCE]
    about = About(named_source, request.licence, request.genre, request.language)
    reviewer = request.reviewer or project.settings.reviewer
    with reading(project.engine) as session:  # other users can write in the meantime
        undecided = undecided_by_role(request.undecided, all_types(session))
        choices = Choices(about, undecided, request.accept, reviewer)
        return Plan(choices, file.table, staged, preview(session, staged, choices))


def add(project: OpenProject, planned: Plan) -> Run:
    """Store a run that adds what a plan shows.

    Raises:
        HedgerowError: as in ``plan``, or the data folder cannot be written.
    """
    with writing(project.engine) as session:
        return create_import(
            session,
            project.settings,
            planned.staged,
            planned.choices,
            requested_by=project.author(session),
        )


IMPORT_VARIANTS = Action("import variants", ImportVariants, add, plan)


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
    added, done = Counts(left_out=Counter(staged.facts.left_out)), 0
    for families in staged.families(AT_ONCE):
        context.update(done, staged.anchors, f"Importing {staged.facts.name}.")
        with collector_paused(), writing(context.engine) as session:
            added.add(store_families(session, families, choices, into))
        done += len(families)
        context.beat()  # otherwise the heartbeat may find no gap between two writing parts
    path.unlink()
    if added.types:
        start_measuring(context)
    verdicts: Counter[str] = Counter()
    for (name, _), number in added.verdicts.items():
        verdicts[name] += number
    return {
        "file": staged.facts.name,
        "source": choices.about.source,
        "anchors": added.anchors,
        "variants": added.types.total(),
        "types": dict(added.types),
        "decisions": verdicts.total(),
        "verdicts": dict(verdicts),
        "left_out": {str(reason): count for reason, count in added.left_out.items()},
    }
