"""Changes to people for pages, which identify them by id."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.decisions import merging
from curation.decisions.merging import Merge
from curation.decisions.reviewers import ensure_reviewer, is_person, rename_person
from curation.decisions.roles import Role, lead_ids, set_role
from db.errors import HedgerowError
from db.models import Reviewer


def add(session: Session, name: str, role: Role) -> str:
    """Add a person before they begin, for example to give them a quota.

    Returns:
        Their name as it is stored.

    Raises:
        HedgerowError: there is such a person, the name is not usable, or there is no lead yet and
            they would not be one.
    """
    if is_person(session, name):
        raise HedgerowError(f"The person '{name}' already exists; change their role instead.")
    if role is not Role.LEAD and not lead_ids(session):
        raise HedgerowError(f"There is no lead yet; add '{name}' as a lead, or add a lead first.")
    found = ensure_reviewer(session, name)
    set_role(session, found, role)
    return found.name


class Renamed(NamedTuple):
    """A person's old and new name."""

    before: str
    now: str


def rename(session: Session, person: int, name: str) -> Renamed:
    """Rename a person.

    Raises:
        HedgerowError: as in ``rename_person``.
    """
    found = session.get_one(Reviewer, person)
    before = found.name
    rename_person(session, found, name)
    return Renamed(before, found.name)


def give_role(session: Session, person: int, role: Role) -> str:
    """Change a person's role.

    Returns:
        Their name.

    Raises:
        HedgerowError: as in ``roles.set_role``.
    """
    found = session.get_one(Reviewer, person)
    set_role(session, found, role)
    return found.name


def plan_merge(session: Session, *, person: int, into: int) -> Merge:
    """The effect of merging the first person into the second. Changes nothing.

    Raises:
        HedgerowError: as in ``merging.plan_merge``.
    """
    return merging.plan_merge(
        session, session.get_one(Reviewer, person), session.get_one(Reviewer, into)
    )


def merge(session: Session, *, person: int, into: int) -> Merge:
    """Merge the first person into the second.

    Raises:
        HedgerowError: as in ``merging.plan_merge``.
    """
    return merging.merge(
        session, session.get_one(Reviewer, person), session.get_one(Reviewer, into)
    )


class Separated(NamedTuple):
    """The names of two people who had been merged."""

    person: str
    into: str


def separate(session: Session, person: int) -> Separated:
    """Undo the merge of a person.

    Raises:
        HedgerowError: they have not been merged.
    """
    found = session.get_one(Reviewer, person)
    into = merging.separate(session, found)
    return Separated(found.name, into)
