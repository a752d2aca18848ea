"""What pages change about people, who are named by their ids there."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review.people import merging
from curation.review.people.merging import Merge
from curation.review.people.reviewers import rename_person
from curation.review.people.roles import Role, set_role
from db.models import Reviewer


class Renamed(NamedTuple):
    """A person's name before and now."""

    before: str
    now: str


def rename(session: Session, person: int, name: str) -> Renamed:
    """Give a person another name.

    Raises:
        HedgerowError: as ``rename_person``.
    """
    found = session.get_one(Reviewer, person)
    before = found.name
    rename_person(session, found, name)
    return Renamed(before, found.name)


def give_role(session: Session, person: int, role: Role) -> str:
    """Give a person another role; their name.

    Raises:
        HedgerowError: as ``roles.set_role``.
    """
    found = session.get_one(Reviewer, person)
    set_role(session, found, role)
    return found.name


def plan_merge(session: Session, *, person: int, into: int) -> Merge:
    """What making the first the same reviewer as the second changes; nothing is changed.

    Raises:
        HedgerowError: as ``merging.plan_merge``.
    """
    return merging.plan_merge(
        session, session.get_one(Reviewer, person), session.get_one(Reviewer, into)
    )


def merge(session: Session, *, person: int, into: int) -> Merge:
    """Make the first the same reviewer as the second.

    Raises:
        HedgerowError: as ``merging.plan_merge``.
    """
    return merging.merge(
        session, session.get_one(Reviewer, person), session.get_one(Reviewer, into)
    )


class Separated(NamedTuple):
    """The names of two people who were one reviewer."""

    person: str
    into: str


def separate(session: Session, person: int) -> Separated:
    """Make a merged person a reviewer of their own again.

    Raises:
        HedgerowError: they have not been merged.
    """
    found = session.get_one(Reviewer, person)
    into = merging.separate(session, found)
    return Separated(found.name, into)
