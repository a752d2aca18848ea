"""Importing variants from a file: what is wanted, what would happen, and doing it.

The page, the command and Python fill in the same request. Its plan only reads: it is the page's
preview and the command's dry run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.anchors.importing.insert import About
from curation.tables.files import Parts
from curation.tables.table import Table
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from curation.variants.importing.cells import Meanings
from curation.variants.importing.choices import Choices, undecided_by_role
from curation.variants.importing.import_run import create_import
from curation.variants.importing.preview import Preview, preview
from curation.variants.importing.roles import (
    check_roles,
    given_roles,
    guess_roles,
    types_by_name,
    with_given,
)
from curation.variants.importing.staged import Staged
from curation.variants.importing.staging import Report, stage
from db.models import Run
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
