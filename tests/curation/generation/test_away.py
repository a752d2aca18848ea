"""A server at its limit or down: runs pause, and continue when they are resumed."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from curation.generation.providers import waiting
from curation.generation.providers.chat.answers import AnswerProblem
from db.engine import writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import CallState, ModelCall, Run, RunState
from tests.curation.generation.conftest import ANCHORS, CALLS, Runs
from tests.support.factories import add_family

NEW_YEAR = "Thu, 01 Jan 2099 00:00:00 GMT"


@pytest.fixture
def runs(runs: Runs) -> Runs:
    """Runs whose server asks for short waits only."""
    runs.server.retry_after = 0.001
    return runs


def paused(runs: Runs, ask: Callable[..., Any], *args: Any, **how: Any) -> str:
    """The message of a run that pauses."""
    with pytest.raises(HedgerowError, match="Paused: ") as error:
        ask(*args, **how)
    assert runs.state() is RunState.PAUSED
    return str(error.value)


@pytest.mark.parametrize(
    ("fault", "refusals", "ask", "how", "done"),
    [
        ("rate limit", "40", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("server error", "10", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("disconnect", "10", Runs.carry_out, {"selection": {"limit": 10}}, 20),
        ("rate limit", str(CALLS), Runs.carry_out, {"batch": True}, CALLS),
        ("rate limit", "10", Runs.judge, {"concurrency": 2}, 7),
    ],
)
def test_a_server_that_refuses_every_call_pauses_the_run_which_asks_again(
    runs: Runs, fault: str, refusals: str, ask: Callable[..., Any], how: dict[str, Any], done: int
) -> None:
    with writing(runs.engine) as session:
        add_family(session, "The road is safe.", subject="road")
    runs.server.always = lambda prompt: fault
    assert f" {refusals} " in paused(runs, ask, runs, **how)
    before = runs.questions
    paused(runs, runs.again)
    assert runs.questions > before, "resuming asks again"
    runs.server.always = lambda prompt: ""
    result = runs.again()
    assert (result["done"], result["failed"]) == (done, 0) and runs.state() is RunState.DONE


@pytest.mark.parametrize(("fault", "attempts"), [("rate limit", 1), ("server error", 5)])
def test_a_single_call_pauses_its_run_after_its_attempts(
    runs: Runs, fault: str, attempts: int
) -> None:
    runs.server.always = lambda prompt: fault
    paused(runs, runs.carry_out, selection={"limit": 1}, roles=("hedge",), attempts=attempts)
    assert runs.questions == attempts


def test_a_run_pauses_if_nothing_listens(runs: Runs) -> None:
    address = "http://127.0.0.1:9/v1"
    assert address in paused(runs, runs.carry_out, base_url=address, selection={"limit": 3})


@pytest.mark.parametrize(
    ("wish", "when", "batch"),
    [
        (NEW_YEAR, (" 2098-12-31 ", " 2099-01-01 "), False),
        (NEW_YEAR, (" 2098-12-31 ", " 2099-01-01 "), True),
        ("1e300", ("thousands",), False),  # beyond the calendar
    ],
)
def test_a_long_retry_after_pauses_the_run_and_says_until_when(
    runs: Runs, wish: str, when: tuple[str, ...], batch: bool
) -> None:
    runs.server.retry_after = wish
    runs.server.always = lambda prompt: "rate limit"
    message = paused(runs, runs.carry_out, batch=batch)
    assert any(moment in message for moment in when) and runs.questions <= 8


def test_a_short_wait_is_respected_and_reported(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    listener = staticmethod(lambda *report: messages.append(report[2]))
    monkeypatch.setattr(RunContext, "listener", listener)
    runs.server.faults, runs.server.kinds, runs.server.retry_after = 1.0, ("rate limit",), 1.2
    assert runs.carry_out(selection={"limit": 1})["done"] == 2
    assert any(" UTC" in message for message in messages)


def test_a_call_that_a_server_always_fails_at_while_it_answers_others_fails_alone(
    runs: Runs,
) -> None:
    runs.server.delay = 0.01
    runs.server.always = lambda prompt: "server error" if "number 7 " in prompt else ""
    result = runs.carry_out(roles=("negation",), concurrency=4)
    assert (result["done"], result["failed"]) == (ANCHORS - 1, 1)
    assert runs.state() is RunState.DONE


def test_a_run_that_died_of_its_server_in_an_earlier_version_asks_again(runs: Runs) -> None:
    runs.stop_at_budget(20, runs.carry_out)
    with writing(runs.engine) as session:
        left = update(ModelCall).where(col(ModelCall.state) == CallState.OPEN)
        problem = AnswerProblem.RATE_LIMIT.value
        session.execute(left.values(state=CallState.FAILED, problem=problem))
        session.execute(update(Run).values(state=RunState.FAILED))
    assert runs.again()["done"] == CALLS and runs.is_each_asked_once


@pytest.mark.parametrize("wish", ["0", NEW_YEAR])
def test_a_provider_that_is_not_heard_of_for_long_pauses_a_run_that_waits_for_its_batch(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    monkeypatch.setattr(waiting, "AWAY_SECONDS", 0.3)
    server = runs.server
    server.retry_after = wish
    server.batches.hear = lambda event: setattr(server, "away", 429 if event == "made" else 0)
    assert (" 209" in paused(runs, runs.carry_out, batch=True)) == (wish == NEW_YEAR)
    server.away, server.batches.hear = 0, lambda event: None
    assert runs.again()["done"] == CALLS
    assert runs.is_each_asked_once, "the batch was answered meanwhile"
