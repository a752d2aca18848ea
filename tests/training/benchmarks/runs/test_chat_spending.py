"""Benchmark runs with chat models: keys stay secret, answers are paid for once, and caps hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.generation.choices import raise_budget
from curation.generation.request import Budget, Price
from db.engine import create_engine, writing
from db.errors import HedgerowError
from db.models import RunState
from db.settings import Settings
from tests.support.databases import Copies
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.benchmarks.support.running import (
    carried_out,
    nevir,
    ran,
    requested,
    results,
    run_of,
    semantoneg,
    stopping,
)
from training.benchmarks.runs.measured_models import ModelChoice

RANDOM = ModelChoice(architecture="random")

PRICE = Price(prompt=0.0, completion=1_000_000.0)
"""One dollar per token of an answer. The server's answers have one token."""


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def test_a_chat_model_is_asked_without_its_key_being_stored(
    engine: Engine, settings: Settings, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = serve_chat(key="sk-secret-key")
    server.says = lambda prompt: "1"
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-secret-key")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", address)
    chat = ModelChoice(name="some-llm", architecture="chat")
    ran(engine, Settings(), chat, benchmarks=(semantoneg(settings),))
    row = results(engine)["some-llm", "semantoneg"]
    assert (row.title, row.ties, row.score) == ("some-llm (chat, both orders)", 6, 0.0)
    assert (row.scoring, row.unanswered) == ("both orders", 0)
    assert (row.asked["prompt"], row.asked["version"]) == ("paraphrase_choice", 1)
    assert "edited" not in row.summary
    assert (row.asked["first_share"], row.asked["changed_share"]) == (100.0, 100.0)
    stored = run_of(engine, row.run_id)
    assert "secret" not in json.dumps([stored.parameters, stored.result, stored.message])


def test_a_chat_models_answers_are_not_paid_for_twice(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.05)
    server.says = lambda prompt: "1"
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address)
    run = requested(engine, settings, chat, benchmarks=(semantoneg(settings),))
    with pytest.raises(HedgerowError, match="was cancelled"):
        carried_out(engine, settings, run, stopping(after=": 1 of 18"))
    assert len(list((settings.data_folder / run.folder).glob("answers-*.txt"))) == 1
    before = dict(server.answered)
    assert len(before) < 18
    assert carried_out(engine, settings, run)["measured"] == 1
    assert len(server.answered) == 18
    twice = [prompt for prompt, times in server.answered.items() if times > 1]
    assert len(twice) <= 8, "at most those in progress"


def test_a_run_pauses_at_its_cap_keeps_every_answer_and_continues_with_a_higher_one(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: str(1 + len(prompt) % 2)
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address, price=PRICE)
    run = requested(
        engine,
        settings,
        chat,
        RANDOM,
        benchmarks=(semantoneg(settings), nevir(settings)),
        budget=Budget(money=5.0),
    )
    assert [model["name"] for model in run.parameters["models"]] == ["random scores", "some-llm"]
    with pytest.raises(
        HedgerowError, match=r"Paused at the budget: 5 calls for \$5.00 so far; raise"
    ):
        carried_out(engine, settings, run)
    assert run_of(engine, run.id).state is RunState.PAUSED
    assert sum(server.answered.values()) == 5, "none beyond the cap"
    assert {model for model, _ in results(engine)} == {"random scores"}, "it costs nothing"
    with pytest.raises(HedgerowError, match="Paused at the budget: 5 calls"):
        carried_out(engine, settings, run)
    with writing(engine) as session:
        raise_budget(session, run.id, money=100.0)
    assert carried_out(engine, settings, run)["measured"] == 4
    assert set(server.answered.values()) == {1}, "nothing was asked twice"
    row = results(engine)["some-llm", "semantoneg"]
    assert row.summary["took"]["units"] == 18 - 5 and row.summary["took"]["tokens_out"] > 0
    spent = (settings.data_folder / run.folder / "spent.txt").read_text().splitlines()
    assert len(spent) == sum(server.answered.values()) + 2, "and the time of two early ends"


def test_time_and_cost_of_a_result_are_those_of_all_attempts(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.02)
    server.says = lambda prompt: "1"
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address, price=PRICE)
    free = chat.model_copy(update={"name": "another-llm", "price": Price()})
    data = (semantoneg(settings),)
    run = requested(engine, settings, chat, free, RANDOM, benchmarks=data, budget=Budget(calls=5))
    with pytest.raises(HedgerowError, match="Paused at the budget"):
        carried_out(engine, settings, run)
    with writing(engine) as session:
        raise_budget(session, run.id, calls=1000)
    done = carried_out(engine, settings, run)
    rows = results(engine)
    found = rows["some-llm", "semantoneg"].summary
    assert found["cost"] == pytest.approx(done["cost"]), "the other has no price"
    assert found["cost"] > found["took"]["tokens_out"] > 0, "a dollar per token, five earlier calls"
    assert found["seconds"] > found["took"]["seconds"] > 0, "the paused attempt's time is in it"
    assert rows["another-llm", "semantoneg"].summary["cost"] is None
    assert rows["random scores", "semantoneg"].summary["cost"] is None
    assert 0 <= rows["random scores", "semantoneg"].summary["seconds"] < 60


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": -1, "completion_tokens": 0}])
def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(
    engine: Engine, settings: Settings, serve_chat: Serve, usage: Any
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: str(1 + len(prompt) % 2)
    server.reports = lambda usage_: usage
    price = Price(prompt=10_000.0, completion=10_000.0)
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address, price=price)
    run = requested(
        engine, settings, chat, benchmarks=(semantoneg(settings),), budget=Budget(money=5.0)
    )
    for _ in range(2):  # the earlier spending is known to be an estimate, too
        with pytest.raises(HedgerowError, match=r"for about \$.* \(estimated: the server reports"):
            carried_out(engine, settings, run)
        assert 0 < sum(server.asked.values()) < 18
    with writing(engine) as session:
        raise_budget(session, run.id, money=1000.0)
    done = carried_out(engine, settings, run)
    assert done["cost"] > 5 and done["cost_is_estimate"]


def test_calls_are_capped_too(engine: Engine, settings: Settings, serve_chat: Serve) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "2"
    chat = ModelChoice(name="some-llm", architecture="chat", base_url=address)
    run = requested(
        engine, settings, chat, benchmarks=(semantoneg(settings),), budget=Budget(calls=7)
    )
    with pytest.raises(HedgerowError, match="7 calls"):
        carried_out(engine, settings, run)
    assert sum(server.asked.values()) == 7
