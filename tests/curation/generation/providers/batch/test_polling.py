"""A run through the Batch API: its whole life cycle and all possible failures."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.providers import waiting
from curation.generation.providers.batch import collecting, polling
from curation.generation.providers.batch.call_lines import read_answer, split_lines
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.completions import CallError
from curation.generation.run import checked_request, request_generation
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Run, RunState
from db.runs import request_cancel, request_pause
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import again, carry_out, table, unmeasured  # noqa: F401
from tests.support.databases import both_databases
from tests.support.servers.chat_server import ChatServer

VARIANTS = 40 * 6


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, because the provider is a thread of this process."""
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
def served(serve_chat: Serve) -> tuple[str, ChatServer]:
    return serve_chat()


def problems(engine: Engine) -> list[str]:
    with reading(engine) as session:
        errors = session.execute(select(col(Answer.error)).where(Answer.error != "")).scalars()
        return [error.partition(":")[0] for error in errors]


def sizes(server: ChatServer) -> list[int]:
    return [batch["request_counts"]["total"] for batch in server.batches.batches.values()]


def test_a_batch_gives_the_results_of_direct_calls_at_half_the_price(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    price = {"prompt": 1000.0, "completion": 2000.0}
    run_id, result = carry_out(anchors, home, base_url=address, batch=True, price=price)
    assert (result["done"], result["failed"], result["calls"]) == (80, 0, 80)
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}
    assert sizes(server) == [78], "one call of each role is made at once, to see that all is right"
    with reading(anchors) as session:
        rows = session.execute(select(Answer, ModelCall).join(ModelCall)).all()
        for answer, call in rows:
            assert answer.anchor_id == call.anchor_id and answer.raw
        full = [(a.prompt_tokens * 1000 + a.completion_tokens * 2000) / 1e6 for a, _ in rows]
        shares = sorted(round(a.cost / cost, 3) for (a, _), cost in zip(rows, full, strict=True))
        assert shares == [0.5] * 78 + [1.0] * 2
        assert not list(
            (home / "hedgerow_data" / session.get_one(Run, run_id).folder).glob("*.jsonl")
        )


def test_failed_calls_of_a_batch_are_repeated_in_the_next(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(faults=0.5)
    _, result = carry_out(anchors, home, base_url=address, batch=True, timeout=0.3)
    assert (result["done"], result["failed"]) == (80, 0)
    assert len(table(anchors)) == VARIANTS
    assert sizes(server) == sorted(sizes(server), reverse=True) and len(sizes(server)) > 1
    assert {"rate limit", "server error", "cut off", "unreadable"} <= set(problems(anchors))


def test_calls_left_by_an_expired_batch_are_repeated_and_answered_ones_are_not(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    server.batches.expiring = 1
    carry_out(anchors, home, base_url=address, batch=True)
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}
    assert sizes(server) == [78, 39]
    assert problems(anchors) == ["batch expired"] * 39


def test_a_call_is_not_put_into_batches_for_ever(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    server.batches.expiring, server.batches.expire_after = 100, 0.0
    _, result = carry_out(anchors, home, base_url=address, batch=True, attempts=3)
    assert (result["done"], result["failed"]) == (2, 78) and sizes(server) == [78] * 3


def test_a_refused_batch_pauses_the_run_and_says_why(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    server.batches.refused, server.batches.reason = 1, "billing_hard_limit_reached"
    with pytest.raises(HedgerowError, match="refused the batch: .*billing_hard_limit_reached"):
        carry_out(anchors, home, base_url=address, batch=True)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        assert run.state is RunState.PAUSED
        assert set(session.execute(select(col(ModelCall.batch))).scalars()) == {""}
    again(anchors, home, run.id)
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}


def test_a_batch_that_is_too_large_is_sent_in_parts(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    server.batches.limit = 30
    carry_out(anchors, home, base_url=address, batch=True)
    assert sizes(server) == [78, 39, 19, 19, 19, 19, 2]
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}


def test_a_server_without_batches_gives_one_sentence(
    anchors: Engine, home: Path, served: tuple[str, ChatServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    refusal = (404, {"error": {"message": "No such path."}})
    monkeypatch.setattr(server.batches, "handle", lambda *_: refusal)
    with pytest.raises(HedgerowError, match="does not support batches"):
        carry_out(anchors, home, base_url=address, batch=True)


@pytest.mark.parametrize("where", ["create", "find"])
def test_a_process_that_dies_around_the_making_of_a_batch_makes_it_once(
    anchors: Engine,
    home: Path,
    served: tuple[str, ChatServer],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    address, server = served
    with monkeypatch.context() as dying:
        original = getattr(polling.BatchApi, where)

        async def die(*args: Any, **how: Any) -> None:
            await original(*args, **how)
            raise RuntimeError("killed")

        dying.setattr(polling.BatchApi, where, die)
        with pytest.raises(HedgerowError, match="killed"):
            carry_out(anchors, home, base_url=address, batch=True)
    assert len(server.batches.batches) == (where == "create")
    with reading(anchors) as session:
        run_id = session.execute(select(col(Run.id))).scalar_one() or 0
    again(anchors, home, run_id)
    assert sizes(server) == [78]
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}


@both_databases
def test_answers_that_were_stored_before_a_process_died_are_not_stored_twice(
    anchors: Engine, home: Path, served: tuple[str, ChatServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    monkeypatch.setattr(polling, "CHUNK", 10)
    stored = iter(range(100))

    def store(*args: Any, **how: Any) -> Any:
        if next(stored) == 5:
            raise RuntimeError("killed")
        return store_attempts(*args, **how)

    store_attempts = collecting.store_attempts
    monkeypatch.setattr(collecting, "store_attempts", store)
    with pytest.raises(HedgerowError, match="killed"):
        carry_out(anchors, home, base_url=address, batch=True)
    assert 0 < len(table(anchors)) < VARIANTS
    with reading(anchors) as session:
        run_id = session.execute(select(col(Run.id))).scalar_one() or 0
    again(anchors, home, run_id)
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}
    with reading(anchors) as session:
        assert len(session.execute(select(col(Answer.id))).all()) == 80


def stop_in_progress(
    engine: Engine, home: Path, address: str, server: ChatServer, stop: Any
) -> int:
    """Request a run, and stop it while its batch is in progress. Returns its number."""
    server.batches.stuck = True
    request = checked_request({"model": "fake", "base_url": address, "batch": True})
    with writing(engine) as session:
        run_id = request_generation(session, request).id

    def soon() -> None:
        while "in_progress" not in [b["status"] for b in server.batches.batches.values()]:
            time.sleep(0.02)
        with writing(engine) as session:
            stop(session, run_id)

    thread = threading.Thread(target=soon)
    thread.start()
    with pytest.raises(HedgerowError, match="paused|cancelled"):
        again(engine, home, run_id)
    thread.join()
    server.batches.stuck = False
    return run_id


def test_a_pause_leaves_the_batch_to_the_provider_and_resuming_continues_waiting(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    run_id = stop_in_progress(anchors, home, address, server, request_pause)
    (batch,) = server.batches.batches.values()
    assert batch["status"] == "in_progress" and len(table(anchors)) == 6
    again(anchors, home, run_id)
    assert sizes(server) == [78]
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}


def test_a_run_that_pauses_by_itself_cancels_no_batch(
    anchors: Engine,
    home: Path,
    served: tuple[str, ChatServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, server = served

    async def busy(api: Any, batch_id: str) -> None:
        raise CallError(AnswerProblem.RATE_LIMIT, "Later.", retry_after=1e6)

    with monkeypatch.context() as for_a_while:
        for_a_while.setattr(polling.BatchApi, "state", busy)
        with pytest.raises(HedgerowError, match="Paused: the server asks for a retry"):
            carry_out(anchors, home, base_url=address, batch=True)
    (batch,) = server.batches.batches.values()
    assert batch["status"] == "validating", "the server could have cancelled it"
    again(anchors, home, 1)
    assert sizes(server) == [78] and set(server.asked.values()) == {1}


def test_cancelling_a_run_cancels_its_batch_and_keeps_what_it_brought(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    run_id = stop_in_progress(anchors, home, address, server, request_cancel)
    (batch,) = server.batches.batches.values()
    assert batch["status"] == "cancelled"
    with reading(anchors) as session:
        states = list(session.execute(select(col(ModelCall.state))).scalars())
        assert states.count(CallState.DONE) == 2 + 39
        assert session.get_one(Run, run_id).state is RunState.CANCELLED
    again(anchors, home, run_id)  # a change of mind
    assert sizes(server) == [78, 38], "and one at once, as before every first batch"
    assert len(table(anchors)) == VARIANTS and set(server.asked.values()) == {1}
    assert problems(anchors) == [], "a cancelled call is not an attempt"


def test_a_batch_that_is_made_while_its_run_is_cancelled_is_cancelled_too(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served

    def cancel(event: str) -> None:
        if event == "made":
            with writing(anchors) as session:
                request_cancel(session, session.execute(select(col(Run.id))).scalar_one() or 0)
            time.sleep(0.5)  # the run stopped before it received the batch's id

    server.batches.hear = cancel
    with pytest.raises(HedgerowError, match="cancelled"):
        carry_out(anchors, home, base_url=address, batch=True)
    (batch,) = server.batches.batches.values()
    assert batch["status"] == "cancelled"


def test_a_batch_that_the_provider_has_forgotten_gives_one_sentence(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served
    run_id = stop_in_progress(anchors, home, address, server, request_pause)
    server.batches.batches.clear()
    with pytest.raises(HedgerowError, match="does not know the batch 'batch_"):
        again(anchors, home, run_id)


def test_answers_that_were_deleted_at_the_providers_are_asked_for_again(
    anchors: Engine, home: Path, served: tuple[str, ChatServer]
) -> None:
    address, server = served

    def delete(event: str) -> None:
        if event == "looked at completed":
            server.batches.hear = lambda event: None
            server.batches.files.clear()

    server.batches.hear = delete
    _, result = carry_out(anchors, home, base_url=address, batch=True)
    assert (result["done"], result["failed"], result["calls"]) == (80, 0, 158)
    assert sizes(server) == [78, 78] and problems(anchors) == ["server error"] * 78


@pytest.mark.parametrize("budget", [{"calls": 30}, {"money": 0.6}])
def test_no_more_is_sent_than_the_budget_allows(
    anchors: Engine, home: Path, served: tuple[str, ChatServer], budget: dict[str, float]
) -> None:
    address, server = served
    how: dict[str, Any] = {"price": {"completion": 1000.0}, "budget": budget}
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(anchors, home, base_url=address, batch=True, **how)
    with reading(anchors) as session:
        costs = [cost for (cost,) in session.execute(select(col(Answer.cost)))]
        assert session.execute(select(col(Run.state))).scalar_one() is RunState.PAUSED
    if "calls" in budget:
        assert len(costs) == sum(server.asked.values()) == 30
    else:
        assert 0.6 - 2 * max(costs) < sum(costs) <= 0.6 + max(costs)


@given(st.binary(max_size=200))
def test_no_line_of_an_answer_raises(line: bytes) -> None:
    read_answer(line)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            {"custom_id": "7", "response": {"status_code": 429, "body": {}}},
            AnswerProblem.RATE_LIMIT,
        ),
        (
            {"custom_id": "7", "response": {"status_code": 400, "body": {}}},
            AnswerProblem.REFUSED_REQUEST,
        ),
        ({"custom_id": "7", "response": {"status_code": 200, "body": {}}}, AnswerProblem.SERVER),
        (
            {"custom_id": "7", "response": None, "error": {"code": "batch_expired"}},
            AnswerProblem.EXPIRED,
        ),
        ({"custom_id": "7", "response": None, "error": None}, AnswerProblem.SERVER),
        ({"custom_id": "7", "response": [], "error": "x"}, AnswerProblem.SERVER),
    ],
)
def test_errors_are_reported_with_their_line(line: dict[str, Any], found: AnswerProblem) -> None:
    read = read_answer(json.dumps(line).encode())
    assert read is not None and read[0] == 7
    assert isinstance(read[1], CallError) and read[1].problem is found


def test_a_line_ends_at_a_line_feed_and_nowhere_else() -> None:
    import asyncio

    lines = ["first \u2028 of it", "second \x85 \x0b", "", "third"]
    whole = "\n".join(lines).encode()

    async def pieces() -> Any:
        for start in range(0, len(whole), 3):
            yield whole[start : start + 3]

    async def read() -> list[list[bytes]]:
        return [some async for some in split_lines(pieces(), at_once=2, most=99)]

    assert [line.decode() for some in asyncio.run(read()) for line in some] == lines
