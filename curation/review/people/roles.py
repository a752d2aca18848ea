"""Roles in the team: who may change what. The one place where that is checked.

A *lead* may change everything. A *reviewer* decides on variants and writes what belongs to that:
the tables in ``REVIEWER_TABLES``. A *viewer* reads everything and changes nothing. Everybody is a
lead until a lead gives them another role; where people sign in, the settings decide (see
``curation.review.people.signing_in``).

The command line, Python and runs in the background belong to whoever has the machine, who is a
lead. The browser app says who acts in it (``set_who_acts``). ``guard`` then has the database refuse
what that person may not change, whichever function asks for it:

- a viewer gets no session that writes (see ``db.engine.writing``);
- a reviewer's session writes to ``REVIEWER_TABLES`` only.

What a table does not tell needs ``require``: settling a conflict, deciding in bulk, and whatever is
done with files or processes alone.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Connection, Engine, event, select
from sqlalchemy.orm import Session
from sqlmodel import col

from db.engine import before_writing, reading
from db.errors import HedgerowError
from db.models import (
    CueCorrection,
    Decision,
    Diagnostic,
    DiscussMark,
    Draft,
    Lease,
    Note,
    NoteRetraction,
    OpinionLook,
    PracticeAnswer,
    Reviewer,
    ReviewerKind,
    ReviewPosition,
    TeamRole,
    Variant,
)

Role = TeamRole
"""Lead, reviewer or viewer."""

REVIEWER_TABLES = frozenset(
    str(table.__tablename__)
    for table in (
        CueCorrection,
        Decision,
        Diagnostic,
        DiscussMark,
        Draft,
        Lease,
        Note,
        NoteRetraction,
        OpinionLook,
        PracticeAnswer,
        ReviewPosition,
        Variant,
    )
) | {"variant_search", "note_search"}  # SQLite's indexes of their texts
"""What a reviewer may write to. Every other table is for leads."""

Actor = int | Role
"""Who acts: the id of a person, or a role where it is nobody with a row."""

_who_acts: Callable[[], Actor] | None = None
_engine: Engine | None = None
_for_the_project: ContextVar[bool] = ContextVar("for_the_project", default=False)

_ROLE = "hedgerow_role"
"""Where a connection keeps the role in which its transaction writes."""

_READS = ("SELECT", "PRAGMA", "BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "ANALYZE", "SHOW")
_WRITES = re.compile(r'\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)', re.IGNORECASE)
_WITH_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)
"""A common table expression may be part of a query or of a change."""


def role_of(session: Session, reviewer_id: int) -> Role:
    """The role of the person with this id."""
    return session.execute(_role_query(reviewer_id)).scalar_one()


def is_lead(session: Session, reviewer_id: int) -> bool:
    """Whether the person with this id is a lead."""
    return role_of(session, reviewer_id) is Role.LEAD


def set_role(session: Session, person: Reviewer, role: Role) -> None:
    """Give a person another role.

    Raises:
        HedgerowError: they sign in, so that the settings decide; they have been merged; or they are
            the last lead.
    """
    if person.identity is not None:
        raise HedgerowError(
            f"'{person.name}' signs in, so their role is what HEDGEROW_SIGN_IN_LEADS and "
            "HEDGEROW_SIGN_IN_REVIEWERS say; change it there."
        )
    if person.merged_into_id is not None:
        raise HedgerowError(
            f"'{person.name}' has been merged into another person; change that person's role."
        )
    leads = select(col(Reviewer.id)).where(
        col(Reviewer.kind) == ReviewerKind.PERSON,
        col(Reviewer.merged_into_id).is_(None),
        col(Reviewer.role) == Role.LEAD,
    )
    # Two leads who take each other's role away at the same moment would leave none.
    others = set(session.execute(leads.with_for_update()).scalars()) - {person.id}
    if role is not Role.LEAD and not others:
        raise HedgerowError(f"'{person.name}' is the last lead; make somebody else a lead first.")
    person.role = role
    session.flush()


def allows(role: Role, least: Role) -> bool:
    """Whether this role may do what needs at least the other."""
    order = list(Role)
    return order.index(role) <= order.index(least)


def acting_role(session: Session) -> Role:
    """The role of whoever acts now."""
    return _acting_role(session.connection())


def require(least: Role, session: Session | None = None) -> None:
    """Refuse what whoever acts now may not do.

    Args:
        session: one that is open, if there is one.

    Raises:
        HedgerowError: their role is too low.
    """
    if session is not None:
        _refuse_below(least, acting_role(session))
    elif _engine is not None and not _for_the_project.get():
        with reading(_engine) as new:
            _refuse_below(least, acting_role(new))


def set_who_acts(who: Callable[[], Actor] | None, engine: Engine | None = None) -> None:
    """Have this function asked who acts, each time something is to be changed.

    Args:
        who: called in the thread that changes something; None for the machine's owner.
        engine: the database that knows their roles.
    """
    global _who_acts, _engine
    _who_acts, _engine = who, engine


@contextmanager
def for_the_project() -> Iterator[None]:
    """What is written inside follows from what was allowed, such as measuring an edited variant."""
    token = _for_the_project.set(True)
    try:
        yield
    finally:
        _for_the_project.reset(token)


def guard(engine: Engine) -> None:
    """Have every connection of this engine refuse to change what is not for whoever acts."""
    event.listen(engine, "begin", _begins)
    event.listen(engine, "before_cursor_execute", _check)


def _begins(connection: Connection) -> None:
    connection.info.pop(_ROLE, None)


def _check(connection: Connection, _: Any, statement: str, *__: Any) -> None:
    """Refuse a statement that changes what is not for the role of whoever acts."""
    if _who_acts is None or _only_reads(statement):
        return
    changed = _WRITES.match(statement)
    # What is no plain change of one table, such as a change of the schema, is for leads.
    least = Role.REVIEWER if changed and changed[1].lower() in REVIEWER_TABLES else Role.LEAD
    _refuse_below(least, _acting_role(connection))


def _only_reads(statement: str) -> bool:
    begins = statement[:12].lstrip().upper()
    if begins.startswith("WITH"):
        return _WITH_WRITES.search(statement) is None
    return begins.startswith(_READS)


def _acting_role(connection: Connection) -> Role:
    if _who_acts is None or _for_the_project.get():
        return Role.LEAD
    who = _who_acts()
    if isinstance(who, Role):
        return who
    kept = connection.info.get(_ROLE)
    if kept is None or kept[0] != who:
        kept = (who, connection.execute(_role_query(who)).scalar_one())
        connection.info[_ROLE] = kept
    role: Role = kept[1]
    return role


def _role_query(reviewer_id: int) -> Any:
    return select(col(Reviewer.role)).where(col(Reviewer.id) == reviewer_id)


def _refuse_below(least: Role, role: Role) -> None:
    if not allows(role, least):
        raise HedgerowError(refusal(role))


def refusal(role: Role) -> str:
    """Why somebody of this role can't do something, in one sentence."""
    if role is Role.VIEWER:
        return (
            "You are a viewer, so you can read everything and change nothing; ask a lead to make "
            "you a reviewer."
        )
    return "Only a lead can do this, and you are a reviewer."


def _may_write() -> None:
    if _who_acts is not None:
        require(Role.REVIEWER)


before_writing(_may_write)
