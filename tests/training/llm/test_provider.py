"""Finetuning at a provider, which is a thread of this process: the model, its curve and its cost;
whatever fails, nothing is sent twice, and nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from sqlmodel import Session

from curation.actions import OpenProject
from curation.generation.providers import waiting
from curation.validation import checked
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState, Split
from db.runs import get_run, metrics, request_cancel, request_pause
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill
from tests.support.factories import freeze
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer
from tests.support.servers.finetuning_server import STEPS, train_loss
from tests.training.support.trainings import perform
from training.finetune.curves import LOSS
from training.llm import provider_api, provider_finetuning
from training.llm.card import HELD_OUT_LOSS
from training.llm.provider_request import (
    FINETUNE_AT_PROVIDER,
    JOB_FILE,
    KIND,
    ProviderRequest,
    finetuned_models,
    plan,
)
from training.runs.kinds import WORK, cancel_run, kind_of
from training.runs.removal import delete_run

KEY = "sk-not-a-real-key-but-long"
NOWHERE = "http://127.0.0.1:9/v1"


class Provider:
    """A server and a project with 24 question pairs for training, and four for evaluation."""

    def __init__(self, engine: Engine, home: Path, address: str, server: ChatServer) -> None:
        self.engine, self.server, self.jobs = engine, server, server.finetuning
        key = SecretStr(KEY)
        how = {"openai_api_key": key, "openai_base_url": address}
        self.settings = Settings(home=home, database_url="", **how)  # type: ignore[arg-type]

    def requested(self, **how: Any) -> int:
        request = checked(ProviderRequest, {"model": "small"} | how)
        return perform(self.engine, FINETUNE_AT_PROVIDER, request, self.settings).id

    def carried_out(self, run_id: int) -> dict[str, Any]:
        return execution.execute(self.engine, self.settings, run_id, WORK)

    def stored(self, run_id: int) -> Run:
        with reading(self.engine) as session:
            return get_run(session, run_id)

    @property
    def status(self) -> str:
        (job,) = self.jobs.jobs.values()
        return str(job["status"])

    def sent_once(self) -> bool:
        return len(self.server.batches.uploads) == 2 and len(self.jobs.jobs) == 1

    def stopped(self, stop: Callable[[Session, int], Any]) -> int:
        """Start a run, and stop it while its job is in progress. Returns its number."""
        self.jobs.stuck = True
        run_id = self.requested()

        def hear(event: str) -> None:
            if event == "looked at running":
                self.jobs.hear = lambda event: None
                with writing(self.engine) as session:
                    stop(session, run_id)

        self.jobs.hear = hear
        with pytest.raises(HedgerowError):
            self.carried_out(run_id)
        return run_id


@pytest.fixture
def released(engine: Engine, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A release, and short waits for a provider."""

    def made(session: Session) -> None:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 100, split=Split.VALIDATION)
        add_plain_family(session, 101, split=Split.TEST)
        freeze(session)

    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)
    fill(engine, made)
    return engine


@pytest.fixture
def provider(released: Engine, home: Path, serve_chat: Serve) -> Provider:
    return Provider(released, home, *serve_chat(key=KEY))


def test_a_finetuning_brings_a_model_and_its_curve(provider: Provider) -> None:
    run_id = provider.requested(epochs=2, seed=5)
    result = provider.carried_out(run_id)
    assert result["fine_tuned_model"] == f"ft:small:org::{result['job']}"
    assert (result["train"], result["validation"], result["release"]) == (24, 4, 1)
    assert (result["epochs"], result["seed"], result["steps"]) == (2, 5, STEPS)
    assert result["cost"] is None and result["tokens"] > 0
    (made,) = provider.jobs.made
    assert made["method"]["supervised"]["hyperparameters"] == {"n_epochs": 2}
    files = provider.server.batches.files
    lines = [len(files[made[f"{part}_file"]].splitlines()) for part in ("training", "validation")]
    assert lines == [24, 4] and provider.sent_once()
    with reading(provider.engine) as session:
        losses = metrics(session, run_id, name=LOSS)
        assert losses == [(step, train_loss(step)) for step in range(1, STEPS + 1)]
        assert metrics(session, run_id, name=HELD_OUT_LOSS) == [(STEPS, 0.4)]
        assert finetuned_models(session) == [result["fine_tuned_model"]]
    run = provider.stored(run_id)
    assert result["fine_tuned_model"] in kind_of(KIND).sum_up(run.result)
    folder = provider.settings.data_folder / run.folder
    assert not list(folder.glob("*.jsonl")), "the files are at the provider now"
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert KEY.encode() not in everything
    assert KEY not in json.dumps([run.parameters, run.result, run.message])


@pytest.mark.parametrize("encodes", [True, False])
def test_a_server_without_events_or_with_the_older_parameter(
    provider: Provider, encodes: bool
) -> None:
    provider.jobs.without, provider.jobs.encodes = ("events",), encodes
    provider.jobs.knows_method, provider.jobs.away = False, 5  # it also stumbles
    run_id = provider.requested(epochs=4)
    assert provider.carried_out(run_id)["epochs"] == 4
    assert provider.jobs.made[0]["hyperparameters"] == {"n_epochs": 4}
    with reading(provider.engine) as session:
        assert len(metrics(session, run_id, name=LOSS)) == STEPS, "the curve comes at the end"


def test_a_job_costs_the_price_at_the_time_of_the_request(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.llm.provider_request.is_own", lambda address: True)
    how: dict[str, Any] = {"model": "gpt-4o-mini-2024-07-18", "epochs": 2}
    planned = plan(OpenProject(provider.settings, provider.engine), ProviderRequest(**how))
    assert (planned.train, planned.validation, planned.price) == (24, 4, 3.0)
    assert planned.cost == pytest.approx(planned.tokens * 2 * 3 / 1e6)
    result = provider.carried_out(provider.requested(**how))
    assert result["cost"] == pytest.approx(result["tokens"] * 3 / 1e6, abs=1e-6)


def test_cancelling_a_run_cancels_its_job(provider: Provider) -> None:
    run_id = provider.stopped(request_cancel)
    assert provider.stored(run_id).state is RunState.CANCELLED
    assert provider.status == "cancelled"
    with pytest.raises(HedgerowError, match="cancelled"):
        provider.carried_out(run_id)
    assert provider.sent_once()


def test_a_paused_run_lets_its_job_continue_and_finds_it_again(provider: Provider) -> None:
    run_id = provider.stopped(request_pause)
    assert provider.stored(run_id).state is RunState.PAUSED and provider.status == "running"
    provider.jobs.stuck = False
    assert provider.carried_out(run_id)["steps"] == STEPS and provider.sent_once()


@pytest.mark.parametrize("away", [0, 503])
def test_cancelling_a_paused_run_cancels_its_job_too_or_says_that_it_may_run(
    provider: Provider, away: int
) -> None:
    waits = provider.requested(seed=1)
    assert cancel_run(provider.engine, provider.settings, waits) is RunState.CANCELLED, (
        "it has no job"
    )
    run_id = provider.stopped(request_pause)
    with pytest.raises(HedgerowError, match=f"runs cancel {run_id}"):
        delete_run(provider.engine, provider.settings, run_id)
    provider.server.away = away
    with pytest.raises(HedgerowError, match="Job ftjob-") if away else nullcontext():
        cancel_run(provider.engine, provider.settings, run_id)
    assert provider.stored(run_id).state is RunState.CANCELLED
    assert provider.status == ("running" if away else "cancelled")


@pytest.mark.parametrize(
    ("method", "moment"),
    [("upload", "before"), ("upload", "after"), ("create", "after"), ("job", "after")],
)
def test_a_process_that_dies_sends_and_starts_nothing_twice(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, method: str, moment: str
) -> None:
    run_id = provider.requested()
    original = getattr(provider_api.FinetuningApi, method)

    async def die(*args: Any, **how: Any) -> None:
        if moment == "after":
            await original(*args, **how)
        raise RuntimeError("killed")

    with monkeypatch.context() as dying:
        dying.setattr(provider_api.FinetuningApi, method, die)
        with pytest.raises(HedgerowError, match="killed"):
            provider.carried_out(run_id)
    assert provider.carried_out(run_id)["fine_tuned_model"] and provider.sent_once()


def test_an_answer_that_gets_lost_starts_nothing_twice(provider: Provider) -> None:
    server, lost = provider.server, {"sent", "made"}

    def hear(event: str) -> None:
        if event in lost:
            lost.discard(event)
            server.away = 503
            threading.Timer(0.05, lambda: setattr(server, "away", 0)).start()
            raise ConnectionError

    server.batches.hear = server.finetuning.hear = hear
    server.retry_after = 0.1
    assert provider.carried_out(provider.requested())["fine_tuned_model"]
    assert not lost and provider.sent_once()


def test_a_provider_that_does_not_answer_pauses_the_run_and_nothing_is_lost(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "AWAY_SECONDS", 0.2)
    run_id = provider.requested()
    provider.jobs.away = 10_000
    with pytest.raises(HedgerowError, match="cannot be reached"):
        provider.carried_out(run_id)
    assert provider.stored(run_id).state is RunState.PAUSED
    provider.jobs.away = 0
    assert provider.carried_out(run_id)["fine_tuned_model"] and len(provider.jobs.jobs) == 1
    monkeypatch.setattr(waiting, "TRIES", 1)
    provider.settings.openai_base_url = NOWHERE
    with pytest.raises(HedgerowError, match="cannot be reached"):
        provider.carried_out(provider.requested(seed=1))


def test_what_fails_gives_one_sentence_without_the_key(provider: Provider) -> None:
    def message(**how: Any) -> str:
        run_id = provider.requested(**how)
        with pytest.raises(HedgerowError):
            provider.carried_out(run_id)
        run = provider.stored(run_id)
        assert run.state is RunState.FAILED and KEY not in run.message and "\n" not in run.message
        return run.message

    assert "'missing'" in message(model="missing")
    provider.jobs.fails = f"The data is\nagainst the rules, {KEY}."
    assert "The data is against the rul" in message()
    provider.jobs.without = ("jobs",)
    assert "does not offer finetuning" in message(seed=1)
    noted = provider.requested(seed=2)
    note = provider.settings.data_folder / provider.stored(noted).folder / JOB_FILE
    note.parent.mkdir(parents=True)
    note.write_text("{")
    with pytest.raises(HedgerowError, match="the job that this run started"):
        provider.carried_out(noted)
    provider.settings.openai_api_key = SecretStr("another")
    assert "API key" in message(seed=3)


@pytest.mark.slow
def test_a_finetuning_is_asked_for_once_and_with_enough_pairs(engine: Engine, home: Path) -> None:
    provider = Provider(engine, home, NOWHERE, ChatServer())
    with writing(engine) as session:
        add_plain_family(session, 0, split=Split.TRAIN)
        freeze(session)
    with pytest.raises(HedgerowError, match="at least 10 .* found 4"):
        provider.requested()
    with writing(engine) as session:
        for number in (1, 2):
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)
    first = provider.requested()
    with pytest.raises(HedgerowError, match=f"Run {first}"):
        provider.requested()
    assert provider.requested(seed=1) != first


def test_an_impossible_request_gives_one_sentence(provider: Provider) -> None:
    for how, fact in (
        ({"model": " "}, "name the model"),
        ({"base_url": "http://me:secret@server/v1"}, "password"),
        ({"epochs": 0}, "equal to 1"),
        ({"arm": "hedging"}, "contradiction"),
        ({"release": 9}, "release 9"),
    ):
        with pytest.raises(HedgerowError, match=fact) as refusal:
            provider.requested(**how)
        assert "secret" not in str(refusal.value)
    own = str(provider.settings.openai_base_url)
    for address, key in {"": KEY, own: KEY, "http://b/v1": ""}.items():
        request = ProviderRequest(model="m", base_url=address)
        made = provider_finetuning.model_of(request, provider.settings)
        assert made.key.get_secret_value() == key, "the environment's key is for its own address"
