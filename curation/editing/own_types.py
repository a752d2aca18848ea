"""A project's own variant types: add, change, retire and restore them; types of imported texts."""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import forget_kept
from curation.editing.type_drafts import OwnType, as_written, draft
from curation.taxonomy.built_in import VariantType, guideline_of, known_type
from curation.taxonomy.project_types import IMPORTED, OWN, all_types, wording
from db.columns import now
from db.errors import HedgerowError
from db.models import Anchor, Diagnostic, Polarity, TypeRow, TypeVersion, Variant

# -- A project's own variant types in the database: add, change, retire and restore them ----------


class Changed(NamedTuple):
    """The result of a change.

    Attributes:
        entry: the type in its new version.
        to_measure: number of variants whose flags the next diagnostics run updates with the new
            check.
    """

    entry: VariantType
    to_measure: int


def find_type(session: Session, type_id: str) -> VariantType:
    """Return the type with this id, retired or not.

    Raises:
        HedgerowError: there is no such type.
    """
    return known_type(list(all_types(session).values()), type_id)


def add_type(
    session: Session, wanted: OwnType, *, type_id: str = "", origin: str = OWN
) -> VariantType:
    """Add a type, which is then generated, reviewed and counted like any other.

    Args:
        type_id: an id that no type has; '' derives one from the name.
        origin: ``types.IMPORTED`` for a type that no model or rule writes.

    Raises:
        HedgerowError: the type is not valid. Nothing is changed then.
    """
    _lock(session)
    known = all_types(session)
    entry = draft(wanted, list(known.values()), type_id=type_id)
    row = TypeRow(
        id=entry.id,
        polarity=Polarity(entry.polarity),
        group=entry.role,
        ordinal=max(other.order for other in known.values()) + 1,
        version=1,
        origin=origin,
    )
    session.add(row)
    session.flush()
    session.add(wording(entry, version=entry.version))
    session.flush()
    return find_type(session, entry.id)


def change_type(session: Session, type_id: str, wanted: OwnType) -> Changed:
    """Change one of the project's own types by adding a version.

    If the check changes, the measurements of the type's variants are deleted.

    Raises:
        HedgerowError: the type is built in, nothing would change, the role would change, or the new
            version is not valid. Nothing is changed then.
    """
    _lock(session)
    row, current = _own(session, type_id, "changed")
    if wanted.role != current.role:
        raise HedgerowError(
            f"'{current.label}' must stay a {current.role}, because triples depend on its role; "
            "retire it and add another type instead."
        )
    others = list(all_types(session).values())
    entry = draft(wanted, others, type_id=type_id)
    if as_written(entry) == as_written(current):
        raise HedgerowError("Expected a change to the type, found none.")
    row.version += 1
    session.add(wording(entry, version=row.version))
    session.flush()
    is_other_check = entry.surface_check != current.surface_check
    to_measure = _forget_measures(session, type_id) if is_other_check else 0
    return Changed(find_type(session, type_id), to_measure)


def retire_type(session: Session, type_id: str) -> bool:
    """Retire a type and its variants from queues and releases; return whether it was in use.

    Decisions are kept, and existing releases do not change.

    Raises:
        HedgerowError: the type is built in or does not exist.
    """
    _lock(session)
    row, _ = _own(session, type_id, "retired")
    if row.retired_at is not None:
        return False
    row.retired_at = now()
    _set_retired(session, col(Variant.type_id) == type_id, retired=True)
    return True


def restore_type(session: Session, type_id: str) -> bool:
    """Restore a retired type with its variants; return whether it was retired.

    Raises:
        HedgerowError: the type is built in or does not exist.
    """
    _lock(session)
    row, _ = _own(session, type_id, "restored")
    if row.retired_at is None:
        return False
    row.retired_at = None
    in_use = col(Variant.anchor_id).not_in(
        select(col(Anchor.id)).where(col(Anchor.retired_at).is_not(None))
    )
    _set_retired(session, (col(Variant.type_id) == type_id) & in_use, retired=False)
    return True


def type_versions(session: Session, type_id: str) -> list[TypeVersion]:
    """Return all versions of a type, newest first."""
    query = select(TypeVersion).where(col(TypeVersion.type_id) == type_id)
    return list(session.execute(query.order_by(col(TypeVersion.version).desc())).scalars())


def _lock(session: Session) -> None:
    """Prevent others from changing the taxonomy until this transaction ends."""
    rows = select(col(TypeRow.id)).order_by(col(TypeRow.id))
    session.execute(rows.with_for_update(key_share=True)).all()


def _own(session: Session, type_id: str, done: str) -> tuple[TypeRow, VariantType]:
    current = find_type(session, type_id)
    if not current.own:
        raise HedgerowError(
            f"'{current.label}' is built in and cannot be {done}; add your own type instead."
        )
    return session.get_one(TypeRow, type_id, populate_existing=True), current


def _forget_measures(session: Session, type_id: str) -> int:
    """Mark the type's variants for measuring again; return their number."""
    of_type = col(Variant.type_id) == type_id
    ids = select(col(Variant.id)).where(of_type)
    session.connection().execute(delete(Diagnostic).where(col(Diagnostic.variant_id).in_(ids)))
    return session.execute(select(func.count()).select_from(Variant).where(of_type)).scalar_one()


def _set_retired(session: Session, which: ColumnElement[bool], *, retired: bool) -> None:
    session.flush()
    session.connection().execute(update(Variant).where(which).values(retired=retired))
    forget_kept(session)


# -- The types of entailments and contradictions that come with imported anchors ------------------


ENTAILMENT, CONTRADICTION = "entailment", "contradiction"

_ANCHOR = "A yellow and black plane is flying in the clouds and blue sky."

ORIGINAL_TYPES = {
    ENTAILMENT: OwnType(
        label="Original entailment",
        role="paraphrase",
        definition=(
            "A sentence that the anchor's data set labels as an entailment of the anchor, so it "
            "follows from the anchor."
        ),
        example_anchor=_ANCHOR,
        example="A plane is in the air.",
        guideline=guideline_of(ENTAILMENT),
    ),
    CONTRADICTION: OwnType(
        label="Original contradiction",
        role="negation",
        definition=(
            "A sentence that the anchor's data set labels as a contradiction of the anchor, so it "
            "cannot be true of the same scene."
        ),
        example_anchor=_ANCHOR,
        example="A plane is parked in a hangar.",
        guideline=guideline_of(CONTRADICTION),
    ),
}
"""Maps each type id to the type to add."""


def check_types(session: Session, ids: Iterable[str]) -> None:
    """Refuse existing types that can't have imported texts.

    Raises:
        HedgerowError: one is retired or has another role.
    """
    known = all_types(session)
    for type_id in ids:
        if (entry := known.get(type_id)) is not None:
            _check(entry)


def _check(entry: VariantType) -> None:
    expected = ORIGINAL_TYPES[entry.id].role
    if entry.role != expected:
        raise HedgerowError(
            f"Expected the type '{entry.id}' to be a {expected}, found a {entry.role}; leave out "
            "the column."
        )
    if entry.retired:
        raise HedgerowError(
            f"The type '{entry.id}' is retired; restore it, or leave out the column."
        )


def ensure_types(session: Session, ids: Iterable[str]) -> None:
    """Add those of these types that the project does not have.

    Raises:
        HedgerowError: as in ``check_types``; or another type already has the name.
    """
    check_types(session, ids)
    known = all_types(session)
    for type_id in ids:
        if type_id not in known:
            add_type(session, ORIGINAL_TYPES[type_id], type_id=type_id, origin=IMPORTED)
