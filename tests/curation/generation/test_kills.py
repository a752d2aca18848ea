"""A run whose process is killed repeatedly, with a server that fails a third of the calls."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from curation.generation.calls import open_calls
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.retries import Asker
from curation.generation.run import checked_request, request_generation
from curation.taxonomy.built_in import TAXONOMY
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run, RunState
from db.runs import get_run
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import (  # noqa: F401
    again,
    carry_out,
    table,
    unmeasured,
)
from tests.support.databases import Copies, both_databases, one_database, opened
from tests.support.factories import add_anchor
from tests.support.forking import Forker, is_alive, kill
from tests.support.generating import serving

pytestmark = both_databases

KILLS = {"sqlite": 10, "postgresql": 5}
HOW = {"model": "fake", "concurrency": 8}
CONSTANTS = {
    "curation.generation.providers.chat.retries.FIRST_WAIT": 0.1,
    "curation.generation.providers.waiting.POLL_SECONDS": 0.02,
    "curation.generation.providers.waiting.CHECK_SECONDS": 0.02,
    "curation.generation.providers.batch.polling.CHUNK": 10,
}
TRIED = 2
"""Direct calls before a batch is sent."""

PHASES = (
    "sent",
    "made",
    "looked at in_progress",
    "looked at finalizing",
    "looked at completed",
    "fetched",
)


@pytest.fixture(scope="module")
def forker() -> Iterator[Forker]:
    forker = Forker()
    yield forker
    forker.close()


@pytest.fixture(scope="module")
def undisturbed(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """The table after an undisturbed run, in any kind of database."""
    home = tmp_path_factory.mktemp("calm")
    with (
        opened(copies.migrated(home / "hedgerow.db")) as calm,
        serving() as serve,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr("curation.diagnostics.measuring.work", lambda context: {})
        add_anchors(calm)
        address, _ = serve()
        carry_out(calm, home, base_url=address)
        return table(calm)


def add_anchors(engine: Engine) -> None:
    with writing(engine) as session:
        for number in range(100):
            add_anchor(session, f"The bridge number {number} is safe.")


def request(engine: Engine, **how: Any) -> int:
    with writing(engine) as session:
        return request_generation(session, checked_request(HOW | how)).id


def stored(engine: Engine) -> int:
    with reading(engine) as session:
        return session.execute(select(func.count()).select_from(Answer)).scalar_one()


def prompts_of(engine: Engine, run_id: int) -> dict[int, str]:
    """The question, by the call's number."""
    asker = Asker(ChatModel("fake", SecretStr("")), TAXONOMY, attempts=1)
    with reading(engine) as session:
        return {call.id: asker.question(call)[0] for call in open_calls(session, run_id)}


def answered(engine: Engine) -> set[int]:
    """The calls with a stored answer."""
    with reading(engine) as session:
        done = select(col(ModelCall.id)).where(ModelCall.state == CallState.DONE)
        return set(session.execute(done).scalars())


def printed(home: Path) -> str:
    """The output of the runs' processes."""
    return (home / "out.txt").read_text()


def kill_at_work(forker: Forker, engine: Engine, home: Path, run_id: int, *, after: float) -> None:
    """Start a process, let it store something, and kill it a moment later."""
    begun_with = stored(engine)
    process = forker.start(engine.url, home, run_id, CONSTANTS)
    while stored(engine) == begun_with and is_alive(process):
        time.sleep(0.02)
    time.sleep(after)
    assert is_alive(process), f"the run ended before all kills: {printed(home)}"
    kill(process)
    with reading(engine) as session:
        assert get_run(session, run_id).state is RunState.INTERRUPTED


def wait_for(process: int, home: Path) -> None:
    until = time.monotonic() + 60
    while is_alive(process):
        assert time.monotonic() < until, printed(home)
        time.sleep(0.02)


@pytest.mark.slow
def test_ten_kills_and_a_failing_server_leave_the_table_of_an_undisturbed_run(
    engine: Engine,
    home: Path,
    undisturbed: list[tuple[Any, ...]],
    serve_chat: Serve,
    forker: Forker,
) -> None:
    add_anchors(engine)
    kills = KILLS[engine.name]
    address, server = serve_chat(delay=0.01 * kills, faults=1 / 3)
    run_id = request(engine, base_url=address, timeout=0.6, attempts=20)
    prompts = prompts_of(engine, run_id)
    asked: dict[int, int] = {}  # for each call, how often its answer was seen to be stored
    chance = random.Random(4)
    for _ in range(kills):
        kill_at_work(forker, engine, home, run_id, after=chance.uniform(0.0, 0.25))
        asked |= {call: server.asked[prompts[call]] for call in answered(engine) - set(asked)}
    assert asked
    wait_for(forker.start(engine.url, home, run_id, CONSTANTS), home)
    assert table(engine) == undisturbed, printed(home)
    assert asked == {call: server.asked[prompts[call]] for call in asked}, "none is asked again"
    lost = kills * 8 * 4  # in progress, or answered and not yet stored
    assert sum(server.asked.values()) <= stored(engine) + lost
    with reading(engine) as session:
        assert set(session.execute(select(col(ModelCall.state))).scalars()) == {CallState.DONE}
        errors = session.execute(select(col(Answer.error))).scalars().all()
        rows = Counter(session.execute(select(col(Answer.call_id))).scalars())
        assert rows == dict(
            session.execute(select(col(ModelCall.id), col(ModelCall.attempts))).all()
        )
    found = {name for error in errors for name in error.partition(": ")[0].split(", ")}
    assert {
        "rate limit",
        "server error",
        "timeout",
        "model refused",
        "cut off",
        "unreadable",
        "type missing",
        "cue ignored",
        "no connection",
    } <= found


@one_database
@pytest.mark.slow
def test_a_batch_survives_a_kill_in_every_phase(
    engine: Engine,
    home: Path,
    undisturbed: list[tuple[Any, ...]],
    serve_chat: Serve,
    forker: Forker,
) -> None:
    add_anchors(engine)
    address, server = serve_chat()
    run_id = request(engine, base_url=address, batch=True)
    started: list[int] = []
    for phase in PHASES:

        def hear(event: str, phase: str = phase) -> None:
            if event == phase:
                server.batches.hear = lambda event: None
                while phase == "fetched" and stored(engine) == TRIED:
                    time.sleep(0.01)  # the first half is being stored
                while not started:
                    time.sleep(0.01)
                kill(started.pop())

        server.batches.hear = hear
        process = forker.start(engine.url, home, run_id, CONSTANTS)
        started.append(process)
        wait_for(process, home)
        assert not started, f"it was not killed when {phase}: {printed(home)}"
    assert TRIED < stored(engine) < 200
    wait_for(forker.start(engine.url, home, run_id, CONSTANTS), home)
    assert table(engine) == undisturbed, printed(home)
    assert [batch["request_counts"]["total"] for batch in server.batches.batches.values()] == [198]
    assert set(server.asked.values()) == {1} and stored(engine) == 200


@pytest.mark.slow
@one_database
def test_only_one_of_two_processes_executes_a_run(
    engine: Engine,
    home: Path,
    undisturbed: list[tuple[Any, ...]],
    serve_chat: Serve,
    forker: Forker,
) -> None:
    add_anchors(engine)
    address, server = serve_chat(delay=0.05)
    run_id = request(engine, base_url=address)
    both = [forker.start(engine.url, home, run_id, CONSTANTS) for _ in range(2)]
    for process in both:
        wait_for(process, home)
    assert "is already running in process" in printed(home)
    assert table(engine) == undisturbed and set(server.asked.values()) == {1}


@pytest.mark.slow
def test_a_process_that_lost_its_run_to_another_does_no_harm(
    engine: Engine,
    home: Path,
    undisturbed: list[tuple[Any, ...]],
    serve_chat: Serve,
    forker: Forker,
) -> None:
    add_anchors(engine)
    address, server = serve_chat(delay=0.08)
    run_id = request(engine, base_url=address)
    first = forker.start(engine.url, home, run_id, CONSTANTS)
    while not stored(engine):
        time.sleep(0.01)
    for _ in range(10):
        with writing(engine) as session:  # as after a long silence
            lease = {"lease_until": now() - timedelta(minutes=1)}
            session.execute(update(Run).where(col(Run.id) == run_id).values(lease))
        with suppress(HedgerowError):  # in case its heartbeat comes at this moment
            again(engine, home, run_id)
            break
    wait_for(first, home)
    assert "was interrupted" in printed(home)
    assert table(engine) == undisturbed
    assert sum(server.asked.values()) <= 200 + 8 * 20, (
        "the first one continues for a second at most"
    )
    with reading(engine) as session:
        rows = Counter(session.execute(select(col(Answer.call_id))).scalars())
        assert set(rows.values()) == {1}
        assert len(rows) == 200
        assert get_run(session, run_id).state is RunState.DONE
