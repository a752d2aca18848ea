"""A generation run with a real server: what it stores, also after faults."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation import run as generation
from curation.generation.run import checked_request, request_generation
from curation.generation.storing import store_attempts
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import Answer, CallState, ModelCall, Run, RunState, Variant
from db.runs import request_pause
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.support.databases import both_databases
from tests.support.servers.chat_server import texts_for


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere, because it loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.measuring.work", lambda context: {})


def carry_out(engine: Engine, home: Path, **how: Any) -> tuple[int, dict[str, Any]]:
    request = checked_request({"model": "fake", "concurrency": 8} | how)
    with writing(engine) as session:
        run_id = request_generation(session, request).id
    return run_id, again(engine, home, run_id)


def again(engine: Engine, home: Path, run_id: int) -> dict[str, Any]:
    settings = Settings(home=home, database_url="")
    return execute(engine, settings, run_id, {generation.KIND: generation.work})


def table(engine: Engine) -> list[tuple[Any, ...]]:
    """All variants, without keys and times."""
    with reading(engine) as session:
        rows = session.execute(
            select(
                col(Variant.uid), col(Variant.text), col(Variant.type_id), col(Variant.cue)
            ).order_by(Variant.uid)
        )
        return [tuple(row) for row in rows]


def test_the_progress_says_how_many_answers_are_stored(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    report = RunContext.progress

    def hear(context: RunContext, step: int, total: int, message: str) -> None:
        heard.append(message)
        report(context, step, total, message)

    monkeypatch.setattr(RunContext, "progress", hear)
    address, _ = serve_chat()
    carry_out(anchors, home, base_url=address, roles=["negation"], selection={"limit": 1})
    assert "1 answer stored." in heard


@both_databases
def test_every_anchor_gets_a_variant_of_every_type(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    run_id, result = carry_out(anchors, home, base_url=address)
    assert result == {
        "done": 80,
        "failed": 0,
        "calls": 80,
        "cost": 0.0,
        "cost_is_estimate": False,
        "missing": {},
        "complete": True,
    }
    assert len(table(anchors)) == 40 * 6
    assert set(server.asked.values()) == {1}
    with reading(anchors) as session:
        variant = (
            session.execute(select(Variant).where(Variant.type_id == "word")).scalars().first()
        )
        assert variant is not None and variant.cue
        answer = session.get_one(Answer, variant.answer_id)
        assert answer.anchor_id == variant.anchor_id and variant.text in answer.raw
        assert (variant.provider, variant.model, variant.run_id) == ("openai", "fake", run_id)


@pytest.mark.parametrize("structured", [True, False])
def test_a_server_that_knows_no_structured_outputs_gives_the_same(
    anchors: Engine, home: Path, serve_chat: Serve, structured: bool
) -> None:
    address, server = serve_chat(structured=structured)
    carry_out(anchors, home, base_url=address)
    for prompt in server.asked:
        assert set(texts_for(prompt).values()) <= {row[1] for row in table(anchors)}


def test_faults_are_retried_until_the_table_is_that_of_an_undisturbed_run(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.providers.chat.retries.FIRST_WAIT", 0.01)
    address, _ = serve_chat(faults=0.5)
    _, result = carry_out(anchors, home, base_url=address, timeout=0.5)
    assert result["done"] == 80 and result["failed"] == 0
    assert len(table(anchors)) == 40 * 6
    with reading(anchors) as session:
        errors = {e.partition(":")[0] for e in session.execute(select(col(Answer.error))).scalars()}
    assert {
        "rate limit",
        "server error",
        "timeout",
        "model refused",
        "cut off",
        "unreadable",
        "type missing",
    } <= errors


def test_a_wrong_key_ends_the_run_and_says_so_without_the_key(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-secret-thing")
    address, _ = serve_chat(key="another")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", address)
    with pytest.raises(HedgerowError, match="refuses the API key"):
        carry_out(anchors, home, base_url=address)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        assert run.state is RunState.FAILED and "sk-secret" not in str(run.model_dump())


def test_a_run_whose_calls_all_failed_has_failed(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", lambda prompt: {})
    address, _ = serve_chat()
    with pytest.raises(HedgerowError, match="All 4 calls failed. The most frequent problem"):
        carry_out(anchors, home, base_url=address, attempts=1, selection={"limit": 2})
    with reading(anchors) as session:
        assert session.execute(select(Run)).scalar_one().state is RunState.FAILED


def test_the_budget_pauses_the_run_which_continues_if_it_stopped(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(anchors, home, base_url=address, budget={"calls": 30})
    with writing(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        assert run.state is RunState.PAUSED
        states = list(session.execute(select(col(ModelCall.state))).scalars())
        assert states.count(CallState.DONE) == 30
        run.parameters = run.parameters | {"budget": {}}
    again(anchors, home, run.id)
    assert len(table(anchors)) == 40 * 6 and set(server.asked.values()) == {1}


def test_retries_stay_within_the_budget(anchors: Engine, home: Path, serve_chat: Serve) -> None:
    address, server = serve_chat(faults=1.0, kinds=("wrong json",))
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(anchors, home, base_url=address, budget={"calls": 21})
    assert sum(server.asked.values()) == 21


def test_money_is_not_spent_on_what_failed_for_free(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.providers.chat.retries.FIRST_WAIT", 0.0)
    address, _ = serve_chat(faults=0.5, kinds=("server error",))
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(
            anchors, home, base_url=address, price={"completion": 1000.0}, budget={"money": 0.5}
        )
    with reading(anchors) as session:
        costs = [cost for (cost,) in session.execute(select(col(Answer.cost)))]
    paid = [cost for cost in costs if cost]
    assert 0.5 - 2 * max(paid) < sum(paid) <= 0.5 + max(paid)


def test_calls_stop_while_nothing_can_be_stored(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **how: object) -> None:
        raise RuntimeError("the shelf fell down")

    monkeypatch.setattr("curation.generation.worker.store_attempts", broken)
    address, server = serve_chat(delay=0.05)
    with pytest.raises(HedgerowError, match="the shelf fell down"):
        carry_out(anchors, home, base_url=address)
    assert sum(server.asked.values()) <= 3 * 8


@both_databases
def test_a_short_database_outage_loses_nothing(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = iter([True, False, True, *[False] * 100])

    def store(*args: Any, **how: Any) -> Any:
        if next(away):
            raise HedgerowError("The database is away.")
        return store_attempts(*args, **how)

    monkeypatch.setattr("curation.generation.worker.store_attempts", store)
    monkeypatch.setattr("curation.generation.unstored_answers.STORE_AGAIN_SECONDS", (0.01, 0.01))
    address, server = serve_chat()
    carry_out(anchors, home, base_url=address)
    assert len(table(anchors)) == 40 * 6 and set(server.asked.values()) == {1}


def test_a_pause_ends_the_run_at_once_though_the_server_asked_for_a_long_wait(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(faults=1.0, kinds=("rate limit",), retry_after=300)
    request = checked_request({"model": "fake", "base_url": address})
    with writing(anchors) as session:
        run_id = request_generation(session, request).id

    def pause_soon() -> None:
        while not server.asked:
            time.sleep(0.05)
        with writing(anchors) as session:
            request_pause(session, run_id)

    threading.Thread(target=pause_soon).start()
    begun = time.monotonic()
    with pytest.raises(HedgerowError, match="paused"):
        again(anchors, home, run_id)
    assert time.monotonic() - begun < 10


@both_databases
def test_a_page_starts_no_second_run_while_one_waits(anchors: Engine) -> None:
    first = checked_request({"model": "fake", "roles": ["hedge"]})
    second = checked_request({"model": "fake", "roles": ["negation"]})
    with writing(anchors) as session:
        run = request_generation(session, first, alone=True)
        with pytest.raises(HedgerowError, match=f"Run {run.id} is already running"):
            request_generation(session, second, alone=True)
        request_generation(session, second)  # like the command, which does the work itself
