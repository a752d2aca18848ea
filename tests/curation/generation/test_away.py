"""A server at its limit or down: runs pause, and continue when they are resumed."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from sqlmodel import col

from curation.generation.judging import opinion_run
from curation.generation.judging.opinion_request import JudgeRequest
from curation.generation.providers import waiting
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.run import checked
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext, execute
from db.models import CallState, ModelCall, Run, RunState
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import again, carry_out, table, unmeasured  # noqa: F401
from tests.support.factories import add_family
from tests.support.servers.chat_server import ChatServer

NEW_YEAR = "Thu, 01 Jan 2099 00:00:00 GMT"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits."""
    monkeypatch.setattr("curation.generation.providers.chat.retries.FIRST_WAIT", 0.001)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.01)


def state(engine: Engine) -> RunState:
    with reading(engine) as session:
        return session.execute(select(col(Run.state))).scalar_one()


def questions(server: ChatServer) -> int:
    return sum(server.asked.values())


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (
            "rate limit",
            "the server refused 40 calls in a row because of its rate limit (Error code: 429",
        ),
        ("server error", "10 calls in a row got no answer (Error code: 503 - Overloaded)."),
        ("disconnect", "10 calls in a row got no answer (The server at"),
    ],
)
def test_a_constant_429_or_a_dead_server_pauses_a_small_run_which_asks_again(
    anchors: Engine, home: Path, serve_chat: Serve, fault: str, sentence: str
) -> None:
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: fault
    with pytest.raises(HedgerowError) as paused:
        carry_out(anchors, home, base_url=address, selection={"limit": 10})
    assert sentence in str(paused.value) and "Paused: " in str(paused.value)
    assert "). Nothing is lost; resume" in str(paused.value)
    assert state(anchors) is RunState.PAUSED
    before = questions(server)
    with pytest.raises(HedgerowError, match="Paused"):
        again(anchors, home, 1)
    assert questions(server) > before, "resuming asks again"
    server.always = lambda prompt: ""
    result = again(anchors, home, 1)
    assert (result["done"], result["failed"]) == (20, 0)
    assert len(table(anchors)) == 10 * 6 and state(anchors) is RunState.DONE


@pytest.mark.parametrize("attempts", [1, 5])
@pytest.mark.parametrize("fault", ["rate limit", "server error"])
def test_a_single_call_pauses_its_run_after_its_attempts(
    anchors: Engine, home: Path, serve_chat: Serve, fault: str, attempts: int
) -> None:
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: fault
    one: dict[str, Any] = {"selection": {"limit": 1}, "roles": ("hedge",), "attempts": attempts}
    with pytest.raises(HedgerowError, match="Paused"):
        carry_out(anchors, home, base_url=address, **one)
    assert questions(server) == attempts and state(anchors) is RunState.PAUSED


def test_a_run_pauses_if_nothing_listens(anchors: Engine, home: Path) -> None:
    with pytest.raises(HedgerowError, match="http://127.0.0.1:9/v1 does not answer"):
        carry_out(anchors, home, base_url="http://127.0.0.1:9/v1", selection={"limit": 3})
    assert state(anchors) is RunState.PAUSED


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("wish", "when"),
    [(NEW_YEAR, r"on 20(98-12-31|99-01-01) at"), ("99999999", r"on 20\d\d-"), ("1e300", "in thou")],
)
def test_a_long_retry_after_pauses_the_run_and_says_until_when(
    anchors: Engine, home: Path, serve_chat: Serve, wish: str, when: str, batch: bool
) -> None:
    address, server = serve_chat(retry_after=wish)
    server.always = lambda prompt: "rate limit"
    with pytest.raises(HedgerowError, match=f"Paused: the server asks for a retry {when}"):
        carry_out(anchors, home, base_url=address, batch=batch)
    assert questions(server) <= 8 and state(anchors) is RunState.PAUSED


def test_a_short_wait_is_respected_and_reported(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(
        RunContext, "listener", staticmethod(lambda *report: messages.append(report[2]))
    )
    address, _ = serve_chat(faults=1.0, kinds=("rate limit",), retry_after=1.2)
    result = carry_out(anchors, home, base_url=address, selection={"limit": 1})[1]
    assert result["done"] == 2
    assert any("The server is busy; retrying at" in message for message in messages)


def test_a_call_that_a_server_always_fails_at_while_it_answers_others_fails_alone(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.01)
    server.always = lambda prompt: "server error" if "number 7 " in prompt else ""
    _, result = carry_out(anchors, home, base_url=address, roles=("negation",), concurrency=4)
    assert (result["done"], result["failed"]) == (39, 1) and state(anchors) is RunState.DONE


def test_a_run_that_died_of_its_server_asks_again(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(anchors, home, base_url=address, budget={"calls": 30})
    with writing(anchors) as session:  # as stored by earlier versions
        session.execute(
            update(ModelCall)
            .where(col(ModelCall.state) == CallState.OPEN)
            .values(state=CallState.FAILED, problem=AnswerProblem.RATE_LIMIT.value)
        )
        session.execute(update(Run).values(state=RunState.FAILED))
        run = session.execute(select(Run)).scalar_one()
        run.parameters = run.parameters | {"budget": {}}
    assert again(anchors, home, 1)["done"] == 80
    assert set(server.asked.values()) == {1}


def test_a_batch_whose_calls_all_met_a_429_pauses_the_run_which_retries(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    with pytest.raises(HedgerowError, match="Paused: none of 80 calls got an answer"):
        carry_out(anchors, home, base_url=address, batch=True)
    assert state(anchors) is RunState.PAUSED
    server.always = lambda prompt: ""
    assert again(anchors, home, 1)["done"] == 80


@pytest.mark.parametrize(("wish", "sentence"), [("0", "cannot be reached"), (NEW_YEAR, "on 209")])
def test_a_provider_that_is_not_heard_of_for_long_pauses_a_run_that_waits_for_its_batch(
    anchors: Engine,
    home: Path,
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
    wish: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(waiting, "AWAY_SECONDS", 0.3)
    address, server = serve_chat(retry_after=wish)
    server.batches.hear = lambda event: setattr(server, "away", 429 if event == "made" else 0)
    with pytest.raises(HedgerowError, match=f"Paused: the .*{sentence}"):
        carry_out(anchors, home, base_url=address, batch=True)
    assert state(anchors) is RunState.PAUSED
    server.away, server.batches.hear = 0, lambda event: None
    assert again(anchors, home, 1)["done"] == 80
    assert set(server.asked.values()) == {1}, "the batch was answered meanwhile"


def test_a_judge_at_its_limit_pauses_and_is_asked_again(
    engine: Engine, home: Path, serve_chat: Serve
) -> None:
    with writing(engine) as session:
        add_family(session, "The bridge is safe.", subject="bridge")
    address, server = serve_chat(retry_after=0.001)
    server.always = lambda prompt: "rate limit"
    request = checked(JudgeRequest, {"model": "fake", "base_url": address, "concurrency": 2})
    with writing(engine) as session:
        run_id = opinion_run.request_opinions(session, request).id
    settings, works = Settings(home=home, database_url=""), {opinion_run.KIND: opinion_run.work}
    with pytest.raises(HedgerowError, match="Paused: the server refused 10 calls in a row"):
        execute(engine, settings, run_id, works)
    assert state(engine) is RunState.PAUSED
    server.always = lambda prompt: ""
    assert execute(engine, settings, run_id, works)["done"] == 7
