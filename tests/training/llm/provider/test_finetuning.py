"""Finetuning at a provider: a job's whole life, and all that can come between."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine

from curation.generation.providers import waiting
from curation.release.freezing import create_release
from curation.validation import checked
from db import execution
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Run, RunState, Split
from db.runs import get_run, metrics, request_cancel, request_pause
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.chat_server import ChatServer
from tests.support.servers.finetuning_server import STEPS, train_loss
from training.finetune.curve_names import LOSS
from training.llm.figures import HELD_OUT_LOSS
from training.llm.provider import api, finetuning
from training.llm.provider.job_file import NAME
from training.llm.provider.request import (
    KIND,
    ProviderRequest,
    finetuned_models,
    plan,
    request_finetuning,
)
from training.runs.cancelling import cancel_run
from training.runs.kinds import WORK, kind_of
from training.runs.removal import delete_run

KEY = "sk-not-a-real-key-but-long"

Served = tuple[str, ChatServer]


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a provider that is a thread of this process."""
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(execution, "HEARTBEAT_SECONDS", 0.05)


@pytest.fixture
def served(serve_chat: Serve) -> Served:
    return serve_chat(key=KEY)


@pytest.fixture
def released(engine: Engine) -> Engine:
    """A release with 24 question pairs to train on, and four to measure on."""
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 100, split=Split.VALIDATION)
        add_plain_family(session, 101, split=Split.TEST)
        create_release(session)
    return engine


def settings_of(home: Path, address: str) -> Settings:
    return Settings(
        home=home, database_url="", openai_api_key=SecretStr(KEY), openai_base_url=address
    )


def requested(engine: Engine, settings: Settings, **how: Any) -> int:
    request = checked(ProviderRequest, {"model": "small"} | how)
    with writing(engine) as session:
        return request_finetuning(session, settings, request, requested_by=None).id


def carried_out(engine: Engine, settings: Settings, run_id: int) -> dict[str, Any]:
    return execute(engine, settings, run_id, WORK)


def stored(engine: Engine, run_id: int) -> Run:
    with reading(engine) as session:
        return get_run(session, run_id)


def test_a_finetuning_brings_a_model_and_its_curve(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = requested(released, settings, epochs=2, seed=5)
    result = carried_out(released, settings, run_id)
    assert result["fine_tuned_model"] == f"ft:small:org::{result['job']}"
    assert (result["train"], result["validation"], result["release"]) == (24, 4, 1)
    assert (result["epochs"], result["seed"], result["steps"]) == (2, 5, STEPS)
    assert result["cost"] is None and result["tokens"] > 0
    (made,) = server.finetuning.made
    assert made["method"]["supervised"]["hyperparameters"] == {"n_epochs": 2}
    assert len(server.batches.uploads) == 2
    train = server.batches.files[made["training_file"]].splitlines()
    assert len(train) == 24 and len(server.batches.files[made["validation_file"]].splitlines()) == 4
    with reading(released) as session:
        losses = metrics(session, run_id, name=LOSS)
        assert losses == [(step, train_loss(step)) for step in range(1, STEPS + 1)]
        assert metrics(session, run_id, name=HELD_OUT_LOSS) == [(STEPS, 0.4)]
        assert finetuned_models(session) == [result["fine_tuned_model"]]
    run = stored(released, run_id)
    assert result["fine_tuned_model"] in kind_of(KIND).sum_up(run.result)
    folder = settings.data_folder / run.folder
    assert not list(folder.glob("*.jsonl")), "the files are at the provider now"
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert KEY.encode() not in everything
    assert KEY not in json.dumps([run.parameters, run.result, run.message])


@pytest.mark.parametrize("encodes", [True, False])
def test_a_server_without_events_shows_its_curve_at_the_end(
    released: Engine, home: Path, served: Served, encodes: bool
) -> None:
    address, server = served
    server.finetuning.without, server.finetuning.encodes = ("events",), encodes
    settings = settings_of(home, address)
    run_id = requested(released, settings)
    carried_out(released, settings, run_id)
    with reading(released) as session:
        assert len(metrics(session, run_id, name=LOSS)) == STEPS


def test_a_server_with_the_older_parameter_is_asked_with_it(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    server.finetuning.knows_method = False
    settings = settings_of(home, address)
    assert carried_out(released, settings, requested(released, settings, epochs=4))["epochs"] == 4
    assert server.finetuning.made[0]["hyperparameters"] == {"n_epochs": 4}


def test_what_a_job_costs_is_that_of_the_price_when_it_was_asked_for(
    released: Engine, home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = served
    settings = settings_of(home, address)
    monkeypatch.setattr("training.llm.provider.request.is_own", lambda address: True)
    request = ProviderRequest(model="gpt-4o-mini-2024-07-18", epochs=2)
    with reading(released) as session:
        planned = plan(session, settings, request)
    assert (planned.train, planned.validation, planned.price) == (24, 4, 3.0)
    assert planned.cost == pytest.approx(planned.tokens * 2 * 3 / 1e6)
    run_id = requested(released, settings, model="gpt-4o-mini-2024-07-18", epochs=2)
    result = carried_out(released, settings, run_id)
    assert result["cost"] == pytest.approx(result["tokens"] * 3 / 1e6, abs=1e-6)


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


def test_a_provider_that_stays_away_pauses_the_run_and_nothing_is_lost(
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
    ("how", "without", "said"),
    [
        ({"model": "missing"}, (), "has no model 'missing'"),
        ({}, ("jobs",), "does not offer finetuning"),
    ],
)
def test_what_the_provider_does_not_have_is_one_sentence(
    released: Engine,
    home: Path,
    served: Served,
    how: dict[str, Any],
    without: tuple[str, ...],
    said: str,
) -> None:
    address, server = served
    server.finetuning.without = without
    settings = settings_of(home, address)
    with pytest.raises(HedgerowError, match=said):
        carried_out(released, settings, requested(released, settings, **how))


def test_a_wrong_key_is_one_sentence(released: Engine, home: Path, served: Served) -> None:
    settings = settings_of(home, served[0])
    settings.openai_api_key = SecretStr("another")
    with pytest.raises(HedgerowError, match="refuses the API key"):
        carried_out(released, settings, requested(released, settings))


def stopped(
    engine: Engine, settings: Settings, server: ChatServer, stop: Callable[[Any, int], Any]
) -> int:
    """Start a run, stop it while its job is at work; gives its number."""
    server.finetuning.stuck = True
    run_id = requested(engine, settings)

    def when_running() -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if any(job["status"] == "running" for job in server.finetuning.jobs.values()):
                with writing(engine) as session:
                    stop(session, run_id)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=when_running)
    thread.start()
    with pytest.raises(HedgerowError):
        carried_out(engine, settings, run_id)
    thread.join()
    return run_id


def status(server: ChatServer) -> str:
    (job,) = server.finetuning.jobs.values()
    return str(job["status"])


def test_cancelling_a_run_cancels_its_job(released: Engine, home: Path, served: Served) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_cancel)
    assert stored(released, run_id).state is RunState.CANCELLED
    assert status(server) == "cancelled"
    with pytest.raises(HedgerowError, match="was cancelled; start another"):
        carried_out(released, settings, run_id)
    assert len(server.finetuning.jobs) == 1


def test_a_paused_run_lets_its_job_go_on_and_finds_it_again(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    assert stored(released, run_id).state is RunState.PAUSED and status(server) == "running"
    server.finetuning.stuck = False
    assert carried_out(released, settings, run_id)["steps"] == STEPS
    assert len(server.finetuning.jobs) == 1


def test_cancelling_a_paused_run_cancels_its_job_too(
    released: Engine, home: Path, served: Served
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    with pytest.raises(HedgerowError, match=f"first with 'hedgerow runs cancel {run_id}'"):
        delete_run(released, settings, run_id)
    assert cancel_run(released, settings, run_id) is RunState.CANCELLED
    assert status(server) == "cancelled"
    delete_run(released, settings, run_id)


def test_a_job_that_cannot_be_cancelled_is_told(
    released: Engine, home: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = served
    settings = settings_of(home, address)
    run_id = stopped(released, settings, server, request_pause)
    server.away = 503
    with pytest.raises(HedgerowError, match="Job ftjob-.* may still be running at the provider"):
        cancel_run(released, settings, run_id)
    assert stored(released, run_id).state is RunState.CANCELLED and status(server) == "running"


def test_a_run_that_started_no_job_is_cancelled_without_a_provider(
    released: Engine, home: Path
) -> None:
    settings = settings_of(home, "http://127.0.0.1:9/v1")
    assert cancel_run(released, settings, requested(released, settings)) is RunState.CANCELLED


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"model": " "}, "name the model"),
        ({"base_url": "http://me:secret@server/v1"}, "leave out user name, password"),
        ({"epochs": 0}, "greater than or equal to 1"),
        ({"arm": "hedging"}, "an original contradiction"),
        ({"release": 9}, "release 9"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(
    released: Engine, home: Path, how: dict[str, Any], said: str
) -> None:
    with pytest.raises(HedgerowError, match=said) as refusal:
        requested(released, settings_of(home, ""), **how)
    assert "secret" not in str(refusal.value)


def test_too_few_pairs_are_refused_before_anything_is_sent(engine: Engine, home: Path) -> None:
    with writing(engine) as session:
        add_plain_family(session, 1, split=Split.TRAIN)
        create_release(session)
    with pytest.raises(HedgerowError, match="at least 10 question pairs to train on, found 4"):
        requested(engine, settings_of(home, ""))


def test_the_same_finetuning_is_not_asked_for_twice(
    released: Engine, home: Path, served: Served
) -> None:
    settings = settings_of(home, served[0])
    first = requested(released, settings)
    with pytest.raises(HedgerowError, match=f"Run {first} is already finetuning with the same"):
        requested(released, settings)
    requested(released, settings, seed=1)


def test_a_damaged_note_of_the_job_is_one_sentence(
    released: Engine, home: Path, served: Served
) -> None:
    settings = settings_of(home, served[0])
    run_id = requested(released, settings)
    folder = settings.data_folder / stored(released, run_id).folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text("{")
    with pytest.raises(HedgerowError, match="the job that this run started"):
        carried_out(released, settings, run_id)


def test_the_environments_key_goes_to_its_own_address_alone(home: Path) -> None:
    settings = settings_of(home, "http://a/v1")
    for address, key in {"": KEY, "http://a/v1": KEY, "http://b/v1": ""}.items():
        made = finetuning.model_of(ProviderRequest(model="m", base_url=address), settings)
        assert made.key.get_secret_value() == key
