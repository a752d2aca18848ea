"""Actions of thousands of decisions, stored in pieces between which others can decide.

While such an action is stored or undone, a mark in the database says so. If the process ends in
between, the next one that opens the project undoes what was stored, so that every action is either
there as a whole or not at all.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import not_retracted
from curation.decisions.roles import for_the_project
from curation.decisions.storing import StatusChange
from curation.project.settings import UNFINISHED, unfinished_actions
from curation.review.undo import Undone, retract, retract_action
from db.engine import reading, write_in_pieces, writing
from db.models import Decision, Setting
from db.runs import has_ended


@contextmanager
def whole_action(engine: Engine, action_id: str, *, reviewer_id: int) -> Iterator[None]:
    """Undo what was stored of an action if anything goes wrong meanwhile."""
    with for_the_project(), writing(engine) as session:
        mark(session, action_id, reviewer_id=reviewer_id)
    try:
        yield
    except BaseException:
        _undo(engine, action_id, reviewer_id=reviewer_id)
        raise
    _unmark(engine, action_id)


def mark(session: Session, action_id: str, *, reviewer_id: int) -> None:
    """Mark an action as unfinished; if this process ends, what there is of it is undone."""
    process = {"reviewer": reviewer_id, "host": socket.gethostname(), "pid": os.getpid()}
    session.merge(Setting(key=UNFINISHED + action_id, value=process))


def undo_action(engine: Engine, action_id: str, *, reviewer_id: int) -> Undone:
    """Retract all decisions of an action of any size.

    Raises:
        HedgerowError: as in ``curation.review.undo.retract_action``.
    """
    with writing(engine) as session:
        undone = retract_action(session, action_id, reviewer_id=reviewer_id)
    return undo_rest(engine, undone, reviewer_id=reviewer_id)


def undo_rest(engine: Engine, undone: Undone, *, reviewer_id: int) -> Undone:
    """Undo what is left of an action, if it was too large for one transaction.

    Returns:
        The whole undo.
    """
    if not undone.left:
        return undone
    with for_the_project(), writing(engine) as session:
        mark(session, undone.action_id, reviewer_id=reviewer_id)
    changes = _undo(engine, undone.action_id, reviewer_id=reviewer_id)
    return undone._replace(
        decisions=undone.decisions + len(changes),
        variants=undone.variants + len(changes),
        changes=(*undone.changes, *changes),
        left=False,
    )


def finish_interrupted(engine: Engine) -> None:
    """Undo the actions whose processes have ended before they were stored or undone completely."""
    with reading(engine) as session:
        marks = unfinished_actions(session)
    for one in marks:
        if has_ended(one.value["host"], one.value["pid"]):
            with for_the_project():
                _undo(engine, one.key.removeprefix(UNFINISHED), reviewer_id=one.value["reviewer"])


def _undo(engine: Engine, action_id: str, *, reviewer_id: int) -> list[StatusChange]:
    with reading(engine) as session:
        query = select(col(Decision.id)).where(
            col(Decision.action_id) == action_id, not_retracted()
        )
        ids = session.execute(query.order_by(col(Decision.id))).scalars().all()
    changes: list[StatusChange] = []
    take_back = partial(retract, reviewer_id=reviewer_id)
    write_in_pieces(engine, ids, lambda session, some: changes.extend(take_back(session, some)))
    _unmark(engine, action_id)
    return changes


def _unmark(engine: Engine, action_id: str) -> None:
    with for_the_project(), writing(engine) as session:
        session.execute(delete(Setting).where(col(Setting.key) == UNFINISHED + action_id))
