"""Roles in the team, and all checks of who may change what.

A *lead* may change everything. A *reviewer* may decide on variants, which writes to the tables in
``REVIEWER_TABLES``. A *viewer* may only read. Everybody is a lead until a lead changes their role.
If people sign in, the settings decide (see ``curation.decisions.signing_in``).

The command line, Python and background runs act as a lead, because their user owns the machine. The
browser app sets who acts (``set_who_acts``). ``guard`` then makes the database refuse changes that
this person's role does not allow, whichever function makes them:

- a viewer gets no write session (see ``db.engine.writing``);
- a reviewer's session can write to ``REVIEWER_TABLES`` only.

Other checks need ``require``: settling a conflict, deciding in bulk, and work that only uses files
or processes.
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
"""The tables that a reviewer may write to. All others are for leads."""

Actor = int | TeamRole
"""Who acts: the id of a person, or a role for somebody without a row."""

_who_acts: Callable[[], Actor] | None = None
_engine: Engine | None = None
_for_the_project: ContextVar[bool] = ContextVar("for_the_project", default=False)

_ROLE = "hedgerow_role"
"""Key of the role that a connection's transaction writes as."""

_READS = ("SELECT", "PRAGMA", "BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "ANALYZE", "SHOW")
_WRITES = re.compile(r'\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)', re.IGNORECASE)
_WITH_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)
"""For statements that start with WITH, which can be queries or changes."""


def role_of(session: Session, reviewer_id: int) -> TeamRole:
    """The role of the person with this id."""
    return session.execute(_role_query(reviewer_id)).scalar_one()


def set_role(session: Session, person_id: int, role: TeamRole) -> str:
    """Change a person's role.

    Returns:
        Their name.

    Raises:
        HedgerowError: they sign in, so that the settings decide; they were merged into another
            person; or they are the last lead.
    """
    person = session.get_one(Reviewer, person_id)
    if person.identity is not None:
        raise HedgerowError(
            f"'{person.name}' signs in, so HEDGEROW_SIGN_IN_LEADS and "
            "HEDGEROW_SIGN_IN_REVIEWERS decide their role; change it there."
        )
    if person.merged_into_id is not None:
        raise HedgerowError(
            f"'{person.name}' has been merged into another person; change that person's role."
        )
    if role is not TeamRole.LEAD and not lead_ids(session) - {person.id}:
        raise HedgerowError(f"'{person.name}' is the last lead; make somebody else a lead first.")
    person.role = role
    session.flush()
    return person.name


def lead_ids(session: Session) -> set[int]:
    """The ids of all leads, locked until the end of the transaction.

    Without the lock, two leads who demote each other at the same moment would leave none.
    """
    query = select(col(Reviewer.id)).where(
        col(Reviewer.kind) == ReviewerKind.PERSON,
        col(Reviewer.merged_into_id).is_(None),
        col(Reviewer.role) == TeamRole.LEAD,
    )
    return set(session.execute(query.with_for_update()).scalars())


def allows(role: TeamRole, least: TeamRole) -> bool:
    """Whether this role is at least the required one."""
    order = list(TeamRole)
    return order.index(role) <= order.index(least)


def acting_role(session: Session) -> TeamRole:
    """The role of the person who acts now."""
    return _acting_role(session.connection())


def require(least: TeamRole, session: Session | None = None) -> None:
    """Refuse an action if the role of the person who acts now is too low.

    Args:
        session: an open session, if there is one.

    Raises:
        HedgerowError: the role is too low.
    """
    if session is not None:
        _refuse_below(least, acting_role(session))
    elif _engine is not None and not _for_the_project.get():
        with reading(_engine) as new:
            _refuse_below(least, acting_role(new))


def set_who_acts(who: Callable[[], Actor] | None, engine: Engine | None = None) -> None:
    """Set the function that says who acts.

    Args:
        who: called before each change, in the thread that makes it; None for the machine's owner.
        engine: the database with the roles.
    """
    global _who_acts, _engine
    _who_acts, _engine = who, engine


@contextmanager
def for_the_project() -> Iterator[None]:
    """Write without a check, for consequences of an allowed change, such as new measurements."""
    token = _for_the_project.set(True)
    try:
        yield
    finally:
        _for_the_project.reset(token)


def guard(engine: Engine) -> None:
    """Make every connection of this engine refuse changes that the acting person may not make."""
    event.listen(engine, "begin", _begins)
    event.listen(engine, "before_cursor_execute", _check)


def _begins(connection: Connection) -> None:
    connection.info.pop(_ROLE, None)


def _check(connection: Connection, _: Any, statement: str, *__: Any) -> None:
    """Refuse a statement that the role of the acting person does not allow."""
    if _who_acts is None or _only_reads(statement):
        return
    changed = _WRITES.match(statement)
    # Anything but a plain change of one table, such as a schema change, is for leads.
    least = (
        TeamRole.REVIEWER if changed and changed[1].lower() in REVIEWER_TABLES else TeamRole.LEAD
    )
    _refuse_below(least, _acting_role(connection))


def _only_reads(statement: str) -> bool:
    start = statement[:12].lstrip().upper()
    if start.startswith("WITH"):
        return _WITH_WRITES.search(statement) is None
    return start.startswith(_READS)


def _acting_role(connection: Connection) -> TeamRole:
    if _who_acts is None or _for_the_project.get():
        return TeamRole.LEAD
    who = _who_acts()
    if isinstance(who, TeamRole):
        return who
    kept = connection.info.get(_ROLE)
    if kept is None or kept[0] != who:
        kept = (who, connection.execute(_role_query(who)).scalar_one())
        connection.info[_ROLE] = kept
    role: TeamRole = kept[1]
    return role


def _role_query(reviewer_id: int) -> Any:
    return select(col(Reviewer.role)).where(col(Reviewer.id) == reviewer_id)


def _refuse_below(least: TeamRole, role: TeamRole) -> None:
    if not allows(role, least):
        raise HedgerowError(refusal(role))


def refusal(role: TeamRole) -> str:
    """Why somebody with this role can't do something, in one sentence."""
    if role is TeamRole.VIEWER:
        return "You are a viewer and can only read; ask a lead to make you a reviewer."
    return "Only a lead can do this, and you are a reviewer."


def _may_write() -> None:
    if _who_acts is not None:
        require(TeamRole.REVIEWER)


before_writing(_may_write)
