"""Roles in the team: who may change what.

A *lead* may change everything. A *reviewer* decides on variants, and so writes to the tables in
``REVIEWER_TABLES``. A *viewer* reads everything and changes nothing.

Everybody is a lead until a lead gives them another role. Where people sign in, the settings decide
instead: see ``curation.review.people.signing_in``.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.models import Reviewer, TeamRole

Role = TeamRole
"""Lead, reviewer or viewer."""


def role_of(session: Session, reviewer_id: int) -> Role:
    """The role of the person with this id."""
    query = select(col(Reviewer.role)).where(col(Reviewer.id) == reviewer_id)
    return session.execute(query).scalar_one()


def is_lead(session: Session, reviewer_id: int) -> bool:
    """Whether the person with this id is a lead."""
    return role_of(session, reviewer_id) is Role.LEAD
