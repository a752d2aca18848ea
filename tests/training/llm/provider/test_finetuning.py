"""Finetuning at a provider: the model, its curve and its cost."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from db.engine import reading
from db.runs import metrics
from tests.support.generating import serve_chat as serve_chat
from tests.support.servers.finetuning_server import STEPS, train_loss
from tests.training.llm.provider.support.jobs import (
    KEY,
    Served,
    carried_out,
    requested,
    settings_of,
    stored,
)
from training.finetune.curve_names import LOSS
from training.llm.figures import HELD_OUT_LOSS
from training.llm.provider.request import (
    KIND,
    ProviderRequest,
    finetuned_models,
    plan,
)
from training.runs.kinds import kind_of


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


def test_a_job_costs_the_price_at_the_time_of_the_request(
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
