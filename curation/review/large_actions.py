"""Actions of thousands of decisions, stored in pieces between which others can decide.

If the process ends while such an action is stored or undone, the next one that opens the project
undoes what is stored, so that every action is either there as a whole or not at all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import Engine, select
from sqlmodel import col

from curation.decisions.history import not_retracted
from curation.decisions.roles import for_the_project
from curation.decisions.storing import StatusChange
from curation.decisions.unfinished import interrupted, mark, refresh_in_pieces, unmark
from curation.review.undo import Undone, retract, retract_action
from db.engine import reading, write_in_pieces, writing
from db.models import Decision


@contextmanager
def whole_action(engine: Engine, action_id: str, *, reviewer_id: int) -> Iterator[None]:
    """Undo what was stored of an action if anything goes wrong meanwhile."""
    with writing(engine) as session:
        key = mark(session, action=action_id, reviewer=reviewer_id)
    try:
        yield
    except BaseException:
        _undo(engine, action_id, reviewer_id=reviewer_id)
        unmark(engine, key)  # unless undoing failed, too: then it is left to the next process
        raise
    unmark(engine, key)


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
    with writing(engine) as session:
        key = mark(session, action=undone.action_id, reviewer=reviewer_id)
    changes = _undo(engine, undone.action_id, reviewer_id=reviewer_id)
    unmark(engine, key)
    return undone._replace(
        decisions=undone.decisions + len(changes),
        variants=undone.variants + len(changes),
        changes=(*undone.changes, *changes),
        left=False,
    )


def finish_interrupted(engine: Engine) -> None:
    """Put right what processes have left that ended in the middle of a large change.

    Actions are undone. After a change of the assignment or of people, the standing of all variants
    that somebody has decided on is updated.
    """
    with reading(engine) as session:
        found = interrupted(session)
        decided = select(col(Decision.variant_id)).distinct().order_by(col(Decision.variant_id))
        ids = session.execute(decided).scalars().all() if found else []
    with for_the_project():
        for key, facts in found.items():
            if "action" in facts:
                _undo(engine, facts["action"], reviewer_id=facts["reviewer"])
            refresh_in_pieces(engine, key, [] if "action" in facts else ids)


def _undo(engine: Engine, action_id: str, *, reviewer_id: int) -> list[StatusChange]:
    with reading(engine) as session:
        query = select(col(Decision.id)).where(
            col(Decision.action_id) == action_id, not_retracted()
        )
        ids = session.execute(query.order_by(col(Decision.id))).scalars().all()
    changes: list[StatusChange] = []
    take_back = partial(retract, reviewer_id=reviewer_id)
    write_in_pieces(engine, ids, lambda session, some: changes.extend(take_back(session, some)))
    return changes
