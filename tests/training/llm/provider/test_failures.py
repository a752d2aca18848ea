"""Failures of a provider or of the process: nothing is sent twice, and nothing is lost."""

import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from curation.generation.providers import waiting
from db.errors import HedgerowError
from db.models import RunState
from tests.support.generating import serve_chat as serve_chat
from tests.training.llm.provider.support.jobs import (
    KEY,
    Served,
    carried_out,
    requested,
    settings_of,
    stored,
)
from training.llm.provider import api


@pytest.mark.parametrize(
    ("method", "moment"),
    [
        ("upload", "before"),
        ("upload", "after"),
        ("create", "before"),
        ("create", "after"),
        ("job", "after"),
    ],
)
def test_a_process_that_dies_sends_and_starts_nothing_twice(
    released: Engine,
    home: Path,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    moment: str,
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = requested(released, settings)
    original = getattr(api.FinetuningApi, method)

    async def die(*args: Any, **how: Any) -> None:
        if moment == "after":
            await original(*args, **how)
        raise RuntimeError("killed")

    with monkeypatch.context() as dying:
        dying.setattr(api.FinetuningApi, method, die)
        with pytest.raises(HedgerowError, match="killed"):
            carried_out(released, settings, run_id)
    assert carried_out(released, settings, run_id)["fine_tuned_model"]
    assert len(server.batches.uploads) == 2 and len(server.finetuning.jobs) == 1


def test_an_answer_that_gets_lost_starts_nothing_twice(
    released: Engine, home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    settings = settings_of(home, address)
    lost = {"sent", "made"}

    def hear(event: str) -> None:
        if event in lost:
            lost.discard(event)
            server.away = 503
            threading.Timer(0.05, lambda: setattr(server, "away", 0)).start()
            raise ConnectionError

    server.batches.hear = server.finetuning.hear = hear
    server.retry_after = 0.1
    assert carried_out(released, settings, requested(released, settings))["fine_tuned_model"]
    assert not lost
    assert len(server.batches.uploads) == 2 and len(server.finetuning.jobs) == 1


def test_a_provider_that_stumbles_is_waited_for(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    server.finetuning.away = 5
    settings = settings_of(home, address)
    assert carried_out(released, settings, requested(released, settings))["fine_tuned_model"]


def test_a_provider_that_does_not_answer_pauses_the_run_and_nothing_is_lost(
    released: Engine, home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    monkeypatch.setattr(waiting, "AWAY_SECONDS", 0.2)
    settings = settings_of(home, address)
    run_id = requested(released, settings)
    server.finetuning.away = 10_000
    with pytest.raises(HedgerowError, match="Paused: the provider cannot be reached"):
        carried_out(released, settings, run_id)
    assert stored(released, run_id).state is RunState.PAUSED
    server.finetuning.away = 0
    assert carried_out(released, settings, run_id)["fine_tuned_model"]
    assert len(server.finetuning.jobs) == 1


def test_a_server_that_is_not_there_pauses_the_run(
    released: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "TRIES", 1)
    settings = settings_of(home, "http://127.0.0.1:9/v1")
    with pytest.raises(HedgerowError, match="Paused: the provider cannot be reached .*answer"):
        carried_out(released, settings, requested(released, settings))


def test_a_job_that_fails_says_what_the_provider_says(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    server.finetuning.fails = f"The data is\nagainst the rules, {KEY}."
    settings = settings_of(home, address)
    run_id = requested(released, settings)
    with pytest.raises(HedgerowError, match="failed at the provider: The data is against the rul"):
        carried_out(released, settings, run_id)
    run = stored(released, run_id)
    assert run.state is RunState.FAILED and KEY not in run.message


@pytest.mark.parametrize(
    ("how", "without", "message"),
    [
        ({"model": "missing"}, (), "has no model 'missing'"),
        ({}, ("jobs",), "does not offer finetuning"),
    ],
)
def test_a_missing_feature_of_the_provider_gives_one_sentence(
    released: Engine,
    home: Path,
    served: Served,
    how: dict[str, Any],
    without: tuple[str, ...],
    message: str,
) -> None:
    address, server = served
    server.finetuning.without = without
    settings = settings_of(home, address)
    with pytest.raises(HedgerowError, match=message):
        carried_out(released, settings, requested(released, settings, **how))


def test_a_wrong_key_is_one_sentence(released: Engine, home: Path, served: Served) -> None:
    settings = settings_of(home, served[0])
    settings.openai_api_key = SecretStr("another")
    with pytest.raises(HedgerowError, match="refuses the API key"):
        carried_out(released, settings, requested(released, settings))
