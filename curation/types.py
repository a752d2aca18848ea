"""The project's variant types: the built-in taxonomy and a user's own, as the database has them."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlmodel import Session, col

from curation.taxonomy import TAXONOMY, TAXONOMY_VERSION, SurfaceCheck, VariantType
from db.errors import HedgerowError
from db.models import Polarity, TypeRow, TypeVersion


def needs_seeding(session: Session) -> bool:
    """Whether a built-in type is missing, or stored in an older wording than the code has."""
    stored = dict(session.execute(select(col(TypeRow.id), col(TypeRow.version))).all())
    return any(stored.get(entry.id, 0) < TAXONOMY_VERSION for entry in TAXONOMY)


def seed_taxonomy(session: Session, types: Sequence[VariantType] = TAXONOMY) -> None:
    """Store the built-in types; a newer wording of a stored one becomes a further version."""
    for entry in types:
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
            session.add(
                TypeVersion(
                    type_id=entry.id,
                    version=TAXONOMY_VERSION,
                    label=entry.label,
                    definition=entry.definition,
                    example_anchor=entry.example_anchor,
                    example=entry.example,
                    prompt_line=entry.prompt_line,
                    surface_check=entry.surface_check.model_dump(mode="json"),
                    guideline=entry.guideline,
                )
            )
    session.flush()


def list_types(session: Session) -> list[VariantType]:
    """The types in use, in the taxonomy's order, each in its newest wording."""
    query = (
        select(TypeRow, TypeVersion)
        .join(TypeVersion, col(TypeVersion.type_id) == TypeRow.id)
        .where(col(TypeVersion.version) == TypeRow.version, col(TypeRow.retired_at).is_(None))
        .order_by(col(TypeRow.ordinal), col(TypeRow.id))
    )
    return [_as_type(row, wording) for row, wording in session.execute(query)]


def _as_type(row: TypeRow, wording: TypeVersion) -> VariantType:
    return VariantType(
        id=row.id,
        order=row.ordinal,
        label=wording.label,
        polarity=row.polarity.value,
        role=row.group,  # type: ignore[arg-type]  # checked by pydantic
        definition=wording.definition,
        example_anchor=wording.example_anchor,
        example=wording.example,
        prompt_line=wording.prompt_line,
        surface_check=SurfaceCheck.model_validate(wording.surface_check),
        guideline=wording.guideline,
    )


def known_type(types: Sequence[VariantType], type_id: str) -> VariantType:
    """The type with this id.

    Raises:
        HedgerowError: there is none.
    """
    for entry in types:
        if entry.id == type_id:
            return entry
    names = ", ".join(entry.id for entry in types)
    raise HedgerowError(f"Expected a variant type ({names}), but found '{type_id}'.")
