"""A run through the Batch API: its whole life cycle and all possible failures."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlmodel import col

from curation.generation.answers import AnswerProblem
from curation.generation.providers.batch import collecting, polling
from curation.generation.providers.batch.api import read_answer, split_lines
from curation.generation.providers.chat.completions import CallError
from curation.generation.run_report import RAW_SHOWN, last_troubles
from db import execution
from db.engine import writing
from db.models import Answer, CallState, ModelCall, Run, RunState
from db.runs import request_cancel, request_pause
from tests.curation.generation.conftest import CALLS, VARIANTS, Runs
from tests.support.databases import both_databases
from tests.support.servers.batch_server import BatchServer
from tests.support.servers.chat_server import with_thoughts

SENT = CALLS - 2
"""One call of each role is made directly at first, to see that all is right."""


@pytest.fixture(autouse=True)
def _frequent_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
def batches(runs: Runs) -> BatchServer:
    return runs.server.batches


def problems(runs: Runs) -> list[str]:
    errors = runs.all(select(Answer.error).where(Answer.error != ""))
    return [error.partition(":")[0] for error in errors]


def sizes(batches: BatchServer) -> list[int]:
    return [batch["request_counts"]["total"] for batch in batches.batches.values()]


def assert_complete(runs: Runs) -> None:
    """Every variant is there, and every call was made once."""
    runs.assert_complete()
    assert runs.is_each_asked_once and runs.state() is RunState.DONE


def test_a_batch_gives_the_results_of_direct_calls_at_half_the_price(
    runs: Runs, batches: BatchServer
) -> None:
    result = runs.carry_out(batch=True, price={"prompt": 1000.0, "completion": 2000.0})
    assert (result["done"], result["failed"], result["calls"]) == (CALLS, 0, CALLS)
    assert_complete(runs)
    assert sizes(batches) == [SENT]
    rows = runs.rows(select(Answer, ModelCall).join(ModelCall))
    assert all(answer.anchor_id == call.anchor_id and answer.raw for answer, call in rows)
    full = [(a.prompt_tokens * 1000 + a.completion_tokens * 2000) / 1e6 for a, _ in rows]
    shares = sorted(round(a.cost / cost, 3) for (a, _), cost in zip(rows, full, strict=True))
    assert shares == [0.5] * SENT + [1.0] * 2
    assert not list((runs.home / "hedgerow_data").rglob("*.jsonl"))


@pytest.mark.parametrize("batch", [False, True])
def test_what_a_model_writes_around_its_variants_is_removed_and_counted(
    runs: Runs, batch: bool
) -> None:
    runs.server.says = with_thoughts
    found = {"reasoning": CALLS, "Markdown": CALLS, "other text": CALLS}
    assert runs.carry_out(batch=batch)["removed"] == found
    assert_complete(runs)
    seen = runs.read(last_troubles, 1, "reasoning removed")
    assert len(seen) == RAW_SHOWN and all("no wait" in trouble.raw for trouble in seen)


def test_failed_calls_of_a_batch_are_repeated_in_the_next(runs: Runs, batches: BatchServer) -> None:
    runs.server.faults = 0.5
    result = runs.carry_out(batch=True, timeout=0.3)
    assert (result["done"], result["failed"]) == (CALLS, 0)
    runs.assert_complete()
    assert sizes(batches) == sorted(sizes(batches), reverse=True) and len(sizes(batches)) > 1
    assert {"rate limit", "server error", "cut off", "unreadable"} <= set(problems(runs))


@pytest.mark.parametrize(
    ("limits", "sent", "found"),
    [
        ({"expiring": 1}, [SENT, SENT // 2], ["batch expired"] * (SENT // 2)),
        ({"limit": 15}, [46, 23, 11, 11, 11, 11, 2], []),
    ],
)
def test_calls_left_by_an_expired_or_too_large_batch_are_sent_again_and_answered_ones_are_not(
    runs: Runs, batches: BatchServer, limits: dict[str, int], sent: list[int], found: list[str]
) -> None:
    vars(batches).update(limits)
    runs.carry_out(batch=True)
    assert_complete(runs)
    assert sizes(batches) == sent and problems(runs) == found


def test_a_call_is_not_put_into_batches_for_ever(runs: Runs, batches: BatchServer) -> None:
    batches.expiring, batches.expire_after = 100, 0.0
    result = runs.carry_out(batch=True, attempts=3)
    assert (result["done"], result["failed"]) == (2, SENT) and sizes(batches) == [SENT] * 3


def test_a_refused_batch_pauses_the_run_and_says_why(runs: Runs, batches: BatchServer) -> None:
    batches.refused, batches.reason = 1, "billing_hard_limit_reached"
    assert "billing_hard_limit_reached" in runs.refused(batch=True)
    assert runs.state() is RunState.PAUSED and set(runs.all(ModelCall.batch)) == {""}
    runs.again()
    assert_complete(runs)


def test_a_server_without_batches_is_named(
    runs: Runs, batches: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = (404, {"error": {"message": "No such path."}})
    monkeypatch.setattr(batches, "handle", lambda *_: refusal)
    assert "does not support batches" in runs.refused(batch=True)


@pytest.mark.parametrize("where", ["create", "find"])
def test_a_process_that_dies_around_the_making_of_a_batch_makes_it_once(
    runs: Runs, batches: BatchServer, where: str
) -> None:
    original = getattr(polling.BatchApi, where)

    async def die(*args: Any, **how: Any) -> None:
        await original(*args, **how)
        raise RuntimeError("killed")

    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(polling.BatchApi, where, die)
        assert "killed" in runs.refused(batch=True)
    assert len(batches.batches) == (where == "create")
    runs.again()
    assert sizes(batches) == [SENT]
    assert_complete(runs)


@both_databases
def test_answers_that_were_stored_before_a_process_died_are_not_stored_twice(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "CHUNK", 5)
    stored = iter(range(100))

    def store(*args: Any, **how: Any) -> Any:
        if next(stored) == 5:
            raise RuntimeError("killed")
        return store_attempts(*args, **how)

    store_attempts = collecting.store_attempts
    monkeypatch.setattr(collecting, "store_attempts", store)
    assert "killed" in runs.refused(batch=True)
    assert 0 < len(runs.variants()) < VARIANTS
    runs.again()
    assert_complete(runs)
    assert len(runs.all(Answer.id)) == CALLS


@both_databases
def test_answers_may_come_in_any_order_and_twice_and_those_of_other_runs_are_left_out(
    runs: Runs, batches: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = batches.keep

    def shuffled(content: bytes) -> str:
        lines = [json.loads(line) for line in content.splitlines()]
        if "response" in lines[0]:
            other = [line | {"custom_id": str(int(line["custom_id"]) - CALLS)} for line in lines]
            lines = [*lines, *lines, *other, lines[0] | {"custom_id": "999999999"}]
            random.Random(1).shuffle(lines)
        return keep("\n".join(map(json.dumps, lines)).encode())

    monkeypatch.setattr(polling, "CHUNK", 17)
    monkeypatch.setattr(batches, "keep", shuffled)
    with writing(runs.engine) as session:
        session.get_one(Run, runs.request(batch=True)).state = RunState.PAUSED
    runs.carry_out(batch=True)
    runs.assert_complete()
    assert set(runs.all(Answer.run_id)) == {2} and len(runs.all(Answer.id)) == CALLS


# -- pausing and cancelling -----------------------------------------------------------------------


def stop_in_progress(runs: Runs, stop: Any) -> None:
    """Carry out a run, and stop it while its batch is in progress."""
    batches = runs.server.batches

    def hear(event: str) -> None:
        if event == "looked at in_progress":
            batches.hear = lambda event: None
            with writing(runs.engine) as session:
                stop(session, 1)

    batches.stuck, batches.hear = True, hear
    runs.refused(batch=True)
    assert runs.state() in (RunState.PAUSED, RunState.CANCELLED)
    batches.stuck = False


def test_a_pause_leaves_the_batch_to_the_provider_and_resuming_continues_waiting(
    runs: Runs, batches: BatchServer
) -> None:
    stop_in_progress(runs, request_pause)
    assert [batch["status"] for batch in batches.batches.values()] == ["in_progress"]
    assert len(runs.variants()) == 6
    runs.again()
    assert sizes(batches) == [SENT]
    assert_complete(runs)


def test_cancelling_a_run_cancels_its_batch_and_keeps_what_it_brought(
    runs: Runs, batches: BatchServer
) -> None:
    stop_in_progress(runs, request_cancel)
    assert [batch["status"] for batch in batches.batches.values()] == ["cancelled"]
    assert runs.calls().count(CallState.DONE) == 2 + SENT // 2
    assert runs.state() is RunState.CANCELLED
    runs.again()  # a change of mind
    assert sizes(batches) == [SENT, SENT // 2 - 1], "and one at once, as before every first batch"
    assert_complete(runs)
    assert problems(runs) == [], "a cancelled call is not an attempt"


def test_a_batch_that_is_made_while_its_run_is_cancelled_is_cancelled_too(
    runs: Runs, batches: BatchServer
) -> None:
    def cancel(event: str) -> None:
        if event == "made":
            with writing(runs.engine) as session:
                request_cancel(session, session.execute(select(col(Run.id))).scalar_one() or 0)
            time.sleep(0.5)  # the run stopped before it received the batch's id

    batches.hear = cancel
    assert "cancelled" in runs.refused(batch=True)
    assert [batch["status"] for batch in batches.batches.values()] == ["cancelled"]


def test_a_batch_that_the_provider_has_forgotten_is_named(runs: Runs, batches: BatchServer) -> None:
    stop_in_progress(runs, request_pause)
    batches.batches.clear()
    assert "'batch_" in runs.refused(runs.again)


def test_answers_that_were_deleted_at_the_providers_are_asked_for_again(
    runs: Runs, batches: BatchServer
) -> None:
    def delete(event: str) -> None:
        if event == "looked at completed":
            batches.hear = lambda event: None
            batches.files.clear()

    batches.hear = delete
    result = runs.carry_out(batch=True)
    assert (result["done"], result["failed"], result["calls"]) == (CALLS, 0, CALLS + SENT)
    assert sizes(batches) == [SENT, SENT] and problems(runs) == ["server error"] * SENT


@pytest.mark.parametrize("budget", [{"calls": 30}, {"money": 0.6}])
def test_no_more_is_sent_than_the_budget_allows(runs: Runs, budget: dict[str, float]) -> None:
    assert "budget" in runs.refused(batch=True, price={"completion": 1000.0}, budget=budget)
    costs = runs.all(Answer.cost)
    assert runs.state() is RunState.PAUSED and len(costs) == runs.questions <= 30
    if "calls" in budget:
        assert len(costs) == 30
    else:
        assert 0.6 - 2 * max(costs) < sum(costs) <= 0.6 + max(costs)


# -- the files of a batch -------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_no_line_of_an_answer_raises(line: bytes) -> None:
    read_answer(line)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"response": {"status_code": 429, "body": {}}}, AnswerProblem.RATE_LIMIT),
        ({"response": {"status_code": 400, "body": {}}}, AnswerProblem.REFUSED_REQUEST),
        ({"response": {"status_code": 200, "body": {}}}, AnswerProblem.SERVER),
        ({"response": None, "error": {"code": "batch_expired"}}, AnswerProblem.EXPIRED),
        ({"response": None, "error": None}, AnswerProblem.SERVER),
        ({"response": [], "error": "x"}, AnswerProblem.SERVER),
    ],
)
def test_errors_are_reported_with_their_line(answer: dict[str, Any], found: AnswerProblem) -> None:
    read = read_answer(json.dumps({"custom_id": "7"} | answer).encode())
    assert read is not None and read[0] == 7
    assert isinstance(read[1], CallError) and read[1].problem is found


def lines_of(pieces: list[bytes], **limits: int) -> list[bytes]:
    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> list[bytes]:
        return [line async for some in split_lines(arriving(), **limits) for line in some]

    return asyncio.run(read())


def test_a_line_ends_at_a_line_feed_and_nowhere_else() -> None:
    lines = ["first \u2028 of it", "second \x85 \x0b", "", "third"]
    whole = "\n".join(lines).encode()
    pieces = [whole[start : start + 3] for start in range(0, len(whole), 3)]
    assert [line.decode() for line in lines_of(pieces, at_once=2, most=99)] == lines


def test_an_endless_line_is_left_out_and_the_others_are_read() -> None:
    body = {"choices": [{"message": {"content": "x"}}]}
    good = json.dumps({"custom_id": "7", "response": {"status_code": 200, "body": body}}).encode()
    endless = [b'{"custom_id": "6", "response": "', *[b"x" * 1000] * 1000]
    lines = lines_of([*endless, b'"}\n' + good + b"\n"], at_once=10, most=5000)
    assert max(map(len, lines)) == 5000
    assert [found[0] for line in lines if (found := read_answer(line))] == [7]
