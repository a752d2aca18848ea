"""A run whose budget ends, or whose database cannot store its answers."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select, text
from sqlmodel import col

from curation.generation.costs.ledger import Ledger
from curation.generation.request import Budget
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run, RunState
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import again, carry_out, table, unmeasured  # noqa: F401
from tests.support.databases import both_databases, one_database

pytestmark = both_databases

AT_ONCE = 64


@given(
    costs=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=80),
    at_once=st.integers(1, 64),
    share=st.floats(0.05, 0.95),
)
def test_calls_in_progress_are_paid_for_before_the_next_begins(
    costs: list[float], at_once: int, share: float
) -> None:
    cap = sum(costs) * share
    ledger, begun, dearest_yet = Ledger(Budget(money=cap)), 0, 0.0
    surprise = costs[0]  # nobody could know these: the first one, and the most expensive one
    while begun < len(costs) and ledger.allows():
        while ledger.under_way < at_once and begun < len(costs) and ledger.allows():
            ledger.under_way += 1
            begun += 1
        some = costs[begun - ledger.under_way : begun]
        dearest_yet = ledger.largest or costs[0]
        surprise = max(surprise, sum(max(0.0, cost - dearest_yet) for cost in some))
        for cost in some:
            ledger.under_way -= 1
            ledger.book(cost, answered=True)
    assert ledger.money <= cap + surprise + 1e-9
    assert begun == len(costs) or ledger.money > cap - ledger.largest - 1e-9


@one_database
def test_a_cap_in_money_holds_while_many_calls_are_in_progress(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.05)
    how: dict[str, Any] = {"base_url": address, "concurrency": AT_ONCE}
    how |= {"price": {"completion": 1000.0}, "budget": {"money": 1.0}}
    with pytest.raises(HedgerowError, match="Paused at the budget"):
        carry_out(anchors, home, **how)
    with reading(anchors) as session:
        costs = [cost for (cost,) in session.execute(select(col(Answer.cost)))]
        run = session.execute(select(Run)).scalar_one()
    assert 1.0 - 2 * max(costs) < sum(costs) <= 1.0 + 1e-9
    assert run.state is RunState.PAUSED and server.most_at_once > 4
    assert sum(server.asked.values()) == len(costs), "answered calls are stored"
    with pytest.raises(HedgerowError, match="Paused at the budget"):
        again(anchors, home, run.id)
    assert sum(server.asked.values()) == len(costs), "nothing is spent by trying again"


@contextmanager
def full_disk(engine: Engine, pages: int) -> Iterator[None]:
    """SQLite refuses to let the file grow by more than this many pages."""

    def cap(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit}")

    with reading(engine) as session:
        limit = session.execute(text("PRAGMA page_count")).scalar_one() + pages
    engine.dispose()
    event.listen(engine, "connect", cap)
    yield
    event.remove(engine, "connect", cap)
    engine.dispose()


@one_database
def test_a_full_disk_ends_the_run_which_continues_once_there_is_room(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.unstored_answers.STORE_AGAIN_SECONDS", (0.01, 0.01))
    address, server = serve_chat(delay=0.05)
    with full_disk(anchors, pages=12), pytest.raises(HedgerowError, match="The disk is full"):
        carry_out(anchors, home, base_url=address)
    with reading(anchors) as session:
        run_id = session.execute(select(col(Run.id))).scalar_one() or 0
        done = session.execute(select(col(ModelCall.id)).where(ModelCall.state == CallState.DONE))
        stored = len(done.all())
    assert 0 < stored < 80
    asked = sum(server.asked.values())
    assert asked <= stored + 8 * 6, "no further calls while nothing can be stored"
    again(anchors, home, run_id)
    assert len(table(anchors)) == 40 * 6
    assert set(server.asked.values()) == {1}, "answered calls are not repeated"


@one_database
def test_while_the_database_is_locked_only_a_bounded_number_of_calls_is_made(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.worker.WAITING", 2)
    address, server = serve_chat()
    seen: list[int] = []

    def hold() -> None:
        while not server.asked:
            time.sleep(0.005)
        with writing(anchors) as session:
            session.execute(text("SELECT 1"))
            time.sleep(1.0)
            seen.append(sum(server.asked.values()))

    holder = threading.Thread(target=hold)
    holder.start()
    carry_out(anchors, home, base_url=address, concurrency=4)
    holder.join()
    assert seen[0] <= 40, "4 under way, 8 that wait, and what was stored before"
    assert len(table(anchors)) == 40 * 6 and set(server.asked.values()) == {1}
