"""Marks of changes that are written in pieces, so that an interrupted one is put right.

A mark is a setting of the project that exists while the change is written, with the process that
writes it. Whoever opens the project next, after that process has ended, finishes the change or
takes it back (``curation.review.large_actions.finish_interrupted``).
"""

import os
import socket
import time
import uuid
from collections.abc import Iterable, Mapping
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

ABANDONED_SECONDS = 6 * 3600
"""A change by a process on another machine that has taken this long was interrupted."""


def this_process() -> dict[str, Any]:
    """What tells others whether this process still writes what it has begun now."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}


def is_gone(process: Mapping[str, Any]) -> bool:
    """Whether a process, as in ``this_process``, can't finish any more what it had begun."""
    since = time.time() - process["since"]
    return has_ended(process["host"], process["pid"]) or since > ABANDONED_SECONDS


def mark(session: Session, **facts: Any) -> str:
    """Store a mark; return its key.

    Args:
        facts: what is needed to put the change right.
    """
    key = f"{_PREFIX}{uuid.uuid4()}"
    session.flush()  # with a check of the role, unlike the mark
    with for_the_project():
        session.execute(insert(Setting).values(key=key, value=this_process() | facts))
    return key


def unmark(engine: Engine, key: str) -> None:
    """The change is finished."""
    with for_the_project(), writing(engine) as session:
        session.execute(delete(Setting).where(col(Setting.key) == key))


def interrupted(session: Session) -> dict[str, dict[str, Any]]:
    """The facts of the changes whose process has ended, by the keys of their marks."""
    query = select(col(Setting.key), col(Setting.value)).where(col(Setting.key).startswith(_PREFIX))
    return {key: facts for key, facts in session.execute(query) if is_gone(facts)}


def refresh_in_pieces(engine: Engine, key: str, variant_ids: Iterable[int]) -> None:
    """Update the stored standing of variants after a change that is marked with ``key``."""
    write_in_pieces(engine, variant_ids, _refresh)
    unmark(engine, key)


def _refresh(session: Session, variant_ids: list[int]) -> None:
    for ids in chunks(variant_ids):
        refresh_kept(session, ids)
