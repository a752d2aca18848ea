"""Marks of changes that are written in pieces, so that an interrupted one is put right.

A mark is a setting of the project that exists while the change is written, with the process that
writes it. Whoever opens the project next, after that process has ended, finishes the change or
takes it back (``curation.review.large_actions.finish_interrupted``).
"""

import os
import socket
import uuid
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.roles import for_the_project
from curation.decisions.storing import chunks, refresh_kept
from db.engine import write_in_pieces, writing
from db.models import Setting
from db.runs import has_ended

_PREFIX = "unfinished-"


def mark(session: Session, **facts: Any) -> str:
    """Store a mark; return its key.

    Args:
        facts: what is needed to put the change right.
    """
    key = f"{_PREFIX}{uuid.uuid4()}"
    process = {"host": socket.gethostname(), "pid": os.getpid()}
    session.flush()  # with a check of the role, unlike the mark
    with for_the_project():
        session.execute(insert(Setting).values(key=key, value=process | facts))
    return key


def unmark(engine: Engine, key: str) -> None:
    """The change is finished."""
    with for_the_project(), writing(engine) as session:
        session.execute(delete(Setting).where(col(Setting.key) == key))


def interrupted(session: Session) -> dict[str, dict[str, Any]]:
    """The facts of the changes whose process has ended, by the keys of their marks."""
    query = select(col(Setting.key), col(Setting.value)).where(col(Setting.key).startswith(_PREFIX))
    return {
        key: facts
        for key, facts in session.execute(query)
        if has_ended(facts["host"], facts["pid"])
    }


def refresh_in_pieces(engine: Engine, key: str, variant_ids: Iterable[int]) -> None:
    """Update the stored standing of variants after a change that is marked with ``key``."""
    write_in_pieces(engine, variant_ids, _refresh)
    unmark(engine, key)


def _refresh(session: Session, variant_ids: list[int]) -> None:
    for ids in chunks(variant_ids):
        refresh_kept(session, ids)
