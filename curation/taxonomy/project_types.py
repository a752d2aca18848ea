"""The project's variant types in the database: built-in types and the project's own."""

from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.taxonomy.built_in import TAXONOMY, TAXONOMY_VERSION, VariantType
from curation.taxonomy.surface_check import SurfaceCheck
from db.models import Polarity, TypeRow, TypeVersion

OWN = "own"
"""The origin of a type that somebody added to the project."""

IMPORTED = "imported"
"""The origin of a type that came with imported anchors. It counts as one of the project's own."""


_OF_PAPER = {entry.id for entry in TAXONOMY if entry.of_paper}
_ON_REQUEST = {entry.id for entry in TAXONOMY if entry.on_request}


def needs_seeding(session: Session) -> bool:
    """Whether a built-in type is missing, or stored in an older version than in the code."""
    stored = dict(session.execute(select(col(TypeRow.id), col(TypeRow.version))).all())
    return any(stored.get(entry.id, 0) < TAXONOMY_VERSION for entry in TAXONOMY)


def seed_taxonomy(session: Session) -> None:
    """Store the built-in types; a changed type becomes a new version."""
    for entry in TAXONOMY:
        row = session.get(TypeRow, entry.id, with_for_update=True)
        if row is None:
            row = TypeRow(
                id=entry.id,
                polarity=Polarity(entry.polarity),
                group=entry.role,
                ordinal=entry.order,
                version=0,
            )
            session.add(row)
            session.flush()
        if row.version < TAXONOMY_VERSION:
            row.version = TAXONOMY_VERSION
            session.add(wording(entry, version=TAXONOMY_VERSION))
    session.flush()


def wording(entry: VariantType, *, version: int) -> TypeVersion:
    """Convert a type to a row for one of its versions, not yet stored."""
    return TypeVersion(
        type_id=entry.id,
        version=version,
        label=entry.label,
        definition=entry.definition,
        example_anchor=entry.example_anchor,
        example=entry.example,
        prompt_line=entry.prompt_line,
        surface_check=entry.surface_check.model_dump(mode="json"),
        guideline=entry.guideline,
    )


def list_types(session: Session, *, retired: bool = False) -> list[VariantType]:
    """Return the types in use, in taxonomy order, each in its newest version.

    Args:
        retired: also return retired types, after those in use. Code that reads existing variants
            needs them, because their type may be retired.
    """
    query = (
        select(TypeRow, TypeVersion)
        .join(TypeVersion, col(TypeVersion.type_id) == TypeRow.id)
        .where(col(TypeVersion.version) == TypeRow.version)
        .order_by(col(TypeRow.ordinal), col(TypeRow.id))
    )
    if not retired:
        query = query.where(col(TypeRow.retired_at).is_(None))
    found = [as_type(row, wording) for row, wording in session.execute(query)]
    return sorted(found, key=lambda entry: entry.retired)


def all_types(session: Session) -> dict[str, VariantType]:
    """Return every type by id, retired ones last."""
    return {entry.id: entry for entry in list_types(session, retired=True)}


def as_type(row: TypeRow, wording: TypeVersion) -> VariantType:
    """Convert a row to a type in one of its versions."""
    return VariantType(
        id=row.id,
        order=row.ordinal,
        label=wording.label,
        role=row.group,  # type: ignore[arg-type]  # checked by pydantic
        definition=wording.definition,
        example_anchor=wording.example_anchor,
        example=wording.example,
        prompt_line=wording.prompt_line,
        surface_check=SurfaceCheck.model_validate(wording.surface_check),
        guideline=wording.guideline,
        version=wording.version,
        own=row.origin in (OWN, IMPORTED),
        imported=row.origin == IMPORTED,
        retired=row.retired_at is not None,
        of_paper=row.id in _OF_PAPER,
        on_request=row.id in _ON_REQUEST,
    )


def types_in_use(session: Session) -> set[str]:
    """Return the ids of the types in use."""
    query = select(col(TypeRow.id)).where(col(TypeRow.retired_at).is_(None))
    return set(session.execute(query).scalars())


def types_version(session: Session) -> str:
    """Return a value that changes with every change to a type."""
    return str(session.execute(select_types_version()).one())


def select_types_version() -> Select[int, int, int, datetime | None]:
    """SQL: a value that changes with every change to a type; it sums a small table."""
    return select(
        func.count(),
        func.sum(col(TypeRow.version)),
        func.count(col(TypeRow.retired_at)),
        func.max(col(TypeRow.retired_at)),
    )
