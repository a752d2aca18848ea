"""Runs whose server's answers are too long, too slow or incomplete, or whose costs it conceals."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from sqlalchemy import select

from curation.generation.providers.chat.answer_limits import KEPT, most_bytes
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import CallError
from curation.generation.run_report import missing_types, progress
from db.engine import reading
from db.errors import HedgerowError
from db.models import Answer, Run, RunState
from tests.curation.generation.conftest import CALLS, Runs, Serve
from tests.support.servers.chat_server import texts_for


def test_an_answer_that_is_too_long_is_paid_for_cut_and_named(runs: Runs) -> None:
    runs.server.pours = 2_000_000
    with pytest.raises(HedgerowError, match="'answer too long'"):
        runs.carry_out(selection={"limit": 2}, concurrency=64, price={"completion": 10.0})
    assert set(runs.server.asked.values()) == {2}, "asked once more"
    with reading(runs.engine) as session:
        assert progress(session, 1).problems == {AnswerProblem.TOO_LONG: 8}
    for answer in runs.all(select(Answer)):
        assert 0 < len(answer.raw) <= KEPT
        assert answer.error.startswith("answer too long: ")
        assert f" {most_bytes(1000):,} bytes " in answer.error
        assert answer.cost >= most_bytes(1000) / 4 * 10 / 1e6 and answer.is_estimate


def test_a_server_that_sends_byte_after_byte_keeps_to_the_timeout(runs: Runs) -> None:
    runs.server.drips = 0.02
    with pytest.raises(HedgerowError, match=r" 0\.5 seconds"):
        runs.carry_out(selection={"limit": 1}, roles=("hedge",), attempts=1, timeout=0.5)


def without_absolute(prompt: str) -> dict[str, str]:
    return {key: text for key, text in texts_for(prompt).items() if key != "absolute"}


def repeating_the_anchor(prompt: str) -> dict[str, str]:
    texts = texts_for(prompt)
    text = prompt.partition("Text: ")[2].partition("\n")[0]
    return texts | ({"verbal": text} if "verbal" in texts else {})


@pytest.mark.parametrize(
    ("answer", "missing", "structured", "tries"),
    [
        (without_absolute, "absolute", True, 5),
        (without_absolute, "absolute", False, 5),
        (repeating_the_anchor, "verbal", True, 2),
    ],
)
def test_a_type_that_is_missing_in_every_answer_is_counted(
    runs: Runs,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[str], dict[str, str]],
    missing: str,
    structured: bool,
    tries: int,
) -> None:
    monkeypatch.setattr("tests.support.servers.chat_server.answer_to", answer)
    runs.server.structured = structured
    result = runs.carry_out(selection={"limit": 10})
    assert (result["done"], result["failed"]) == (20, 0)
    assert result["missing"] == {missing: 10} and result["complete"] is False
    assert len(runs.variants()) == 50
    assert runs.questions == 10 + 10 * tries
    with reading(runs.engine) as session:
        assert missing_types(session, 1) == {missing: 10}
        assert session.get_one(Run, 1).result["missing"] == {missing: 10}


def test_a_run_that_brought_all_after_faults_is_complete(runs: Runs) -> None:
    runs.server.faults, runs.server.kinds = 0.3, ("missing type", "wrong json")
    result = runs.carry_out(selection={"limit": 10})
    assert result["missing"] == {} and result["complete"] is True


@pytest.mark.parametrize(
    ("usage", "batch"), [(None, False), (None, True), ({"completion_tokens": 10**12}, False)]
)
def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(
    runs: Runs, usage: Any, batch: bool
) -> None:
    runs.server.reports = lambda usage_: usage
    price = {"prompt": 1000.0, "completion": 1000.0}
    with pytest.raises(HedgerowError, match=r"about \$.* \(estimated"):
        runs.carry_out(price=price, budget={"money": 5.0}, batch=batch)
    assert runs.state() is RunState.PAUSED and runs.questions < CALLS
    costs = runs.all(Answer.cost)
    assert min(costs) > 0.1 and set(runs.all(Answer.is_estimate)) == {True}
    assert 5.0 - 2 * max(costs) < sum(costs) <= 5.0 + max(costs)


def test_a_cost_is_an_estimate_unless_the_server_reports_it(runs: Runs) -> None:
    for reports in (lambda usage: usage, lambda usage: None):
        runs.server.reports = reports
        result = runs.carry_out(price={"completion": 1.0}, selection={"limit": 2})
        assert result["cost"] > 0 and result["cost_is_estimate"] == (reports(1) is None)


# -- connections ----------------------------------------------------------------------------------


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The connections that have been used."""
    used: set[int] = set()
    handle = httpx2.AsyncHTTPTransport.handle_async_request

    async def counting(self: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        used.add(id(self))
        return await handle(self, request)

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", counting)
    return used


async def ask(model: ChatModel, number: int) -> bool:
    try:
        await model.ask(f"Text: {number}", None)
    except CallError:
        return False
    return True


def test_there_are_as_many_connections_as_calls_at_once(serve_chat: Serve, used: set[int]) -> None:
    async def run() -> None:
        model = ChatModel("fake", SecretStr(""), serve_chat(delay=0.05)[0])
        for _ in range(5):
            assert all(await asyncio.gather(*(ask(model, number) for number in range(6))))
        await model.close()

    asyncio.run(run())
    assert len(used) == 6


@pytest.mark.parametrize("fault", ["hang", "disconnect", "server error"])
def test_a_call_that_fails_or_is_given_up_leaves_its_connection_to_the_next(
    serve_chat: Serve, used: set[int], fault: str
) -> None:
    address, server = serve_chat(faults=1.0, kinds=(fault,))

    async def run() -> None:
        model = ChatModel("fake", SecretStr(""), address, timeout=0.2)
        assert not await ask(model, 1)
        given_up = asyncio.create_task(ask(model, 2))
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.wait({given_up})
        server.faults = 0.0
        assert await ask(model, 3)
        await model.close()

    asyncio.run(run())
    assert len(used) == 1


def test_a_proxy_of_the_environment_is_used(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    address, server = serve_chat()
    assert not asyncio.run(ask(ChatModel("fake", SecretStr(""), address), 1)) and not server.asked
