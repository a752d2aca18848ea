"""The user's choices for an import, and whether a file and these choices fit the project."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from curation.decisions.reviewers import check_person
from curation.editing.own_types import ORIGINAL_TYPES, check_types
from curation.formatting import counted
from curation.importing.anchor_rows import About, check_source
from curation.importing.column_roles import ColumnRole
from curation.importing.staged import Staged
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError

# -- choices --------------------------------------------------------------------------------------


_POLARITIES = {ColumnRole.HEDGE: "positive", ColumnRole.NEGATION: "negative"}


@dataclass(frozen=True)
class Choices:
    """The choices for an import.

    Attributes:
        about: source, licence, genre and language of anchors for which the file names none.
        undecided: untyped role → the type for variants whose words don't show theirs. Without one
            they are left out.
        accept: let the model reviewer of the data set accept variants without a verdict.
        reviewer: the reviewer of verdicts for which the file names nobody.
    """

    about: About
    undecided: Mapping[str, str] = field(default_factory=dict)
    accept: bool = False
    reviewer: str = ""

    def as_parameters(self) -> dict[str, Any]:
        """Convert to JSON, for ``from_parameters``."""
        return asdict(self) | {"undecided": dict(self.undecided)}

    @classmethod
    def from_parameters(cls, stored: Mapping[str, Any]) -> "Choices":
        """Convert from the result of ``as_parameters``."""
        return cls(
            About(**stored["about"]), stored["undecided"], stored["accept"], stored["reviewer"]
        )


def check(session: Session, staged: Staged, choices: Choices) -> None:
    """Refuse an import that can't be stored completely, before storing anything.

    Raises:
        HedgerowError: a type is retired or has another role; a source has another licence in this
            project; a verdict has no reviewer, or a name that no person can have.
    """
    types = all_types(session)
    used = staged.types()
    check_types(session, used & ORIGINAL_TYPES.keys())
    for type_id in sorted(used | set(choices.undecided.values())):
        if type_id in types and types[type_id].retired:
            raise HedgerowError(
                f"The type '{type_id}' is retired; restore it on the Taxonomy page, or leave out "
                "its rows."
            )
    for role, type_id in choices.undecided.items():
        _check_undecided(types, ColumnRole(role), type_id)
    check_source(session, choices.about)
    for source, licence in staged.sources().items():
        check_source(session, About(source, licence or None))
    _check_reviewers(session, staged, choices)


def _check_undecided(types: Mapping[str, VariantType], role: ColumnRole, type_id: str) -> None:
    entry = types.get(type_id)
    if entry is None or entry.polarity != _POLARITIES[role]:
        fitting = fitting_types(types, role)
        raise HedgerowError(
            f"Expected a type for a {role} ({', '.join(fitting)}), found '{type_id[:40]}'."
        )


def fitting_types(types: Mapping[str, VariantType], role: ColumnRole) -> list[str]:
    """Return the ids of the types in use that fit an untyped role."""
    return [
        one.id for one in types.values() if one.polarity == _POLARITIES[role] and not one.retired
    ]


def _check_reviewers(session: Session, staged: Staged, choices: Choices) -> None:
    nameless = 0
    for (reviewer, by), count in staged.verdicts().items():
        if by != "model" and not reviewer:
            nameless += count
        elif reviewer:
            check_person(session, reviewer)
    if not nameless:
        return
    if not choices.reviewer:
        raise HedgerowError(
            f"{staged.facts.name} has {counted(nameless, 'verdict')} without a reviewer name; "
            "give a reviewer, or set HEDGEROW_REVIEWER."
        )
    check_person(session, choices.reviewer)


def undecided_by_role(types: Iterable[str], known: Mapping[str, VariantType]) -> dict[str, str]:
    """Assign the chosen types to untyped roles, according to the types' own roles.

    Raises:
        HedgerowError: there is no such type, or two types have the same role.
    """
    found: dict[str, str] = {}
    for type_id in types:
        entry = known.get(type_id)
        role = next((r for r, p in _POLARITIES.items() if entry and entry.polarity == p), None)
        if role is None:
            raise HedgerowError(
                f"Expected a type of hedges, paraphrases or negations ({', '.join(known)}), found "
                f"'{type_id[:40]}'."
            )
        if role in found:
            raise HedgerowError(
                f"Expected one type for each {role} of unknown type, found '{found[role]}' and "
                f"'{type_id}'; keep one."
            )
        found[role] = type_id
    return found
