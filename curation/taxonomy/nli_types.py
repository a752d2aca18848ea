"""The types of entailments and contradictions that come with imported anchors.

A project gets each type with the first import that has such texts. Their ids are fixed because
trainings look them up: the paper's Table 2 pairs negations with the original entailment, and hedges
with the original contradiction.
"""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from curation.taxonomy.built_in import VariantType, guideline_of
from curation.taxonomy.own_types import add_type
from curation.taxonomy.project_types import IMPORTED, all_types
from curation.taxonomy.type_drafts import OwnType
from db.errors import HedgerowError

ENTAILMENT, CONTRADICTION = "entailment", "contradiction"

_ANCHOR = "A yellow and black plane is flying in the clouds and blue sky."

ORIGINAL_TYPES = {
    ENTAILMENT: OwnType(
        label="Original entailment",
        role="paraphrase",
        definition=("A sentence that the anchor's data set labels as an entailment of the anchor."),
        example_anchor=_ANCHOR,
        example="A plane is in the air.",
        guideline=guideline_of(ENTAILMENT),
    ),
    CONTRADICTION: OwnType(
        label="Original contradiction",
        role="negation",
        definition=(
            "A sentence that the anchor's data set labels as a contradiction of the anchor."
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
