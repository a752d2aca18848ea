"""Estimates for benchmark runs before they start."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from sqlalchemy import Engine

from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.generation.request import Price
from curation.release.freezing import create_release
from curation.token_estimate import tokens
from db.engine import create_engine, reading, writing
from db.models import BenchmarkResult, Run, Split
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.databases import Copies
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.benchmarks.support.running import nevir, ran, semantoneg
from training.benchmarks.data import sizes
from training.benchmarks.data.sizes import READ, Size, size, size_of
from training.benchmarks.data.sources import DataChoice
from training.benchmarks.runs.cost_forecast import (
    LOADING,
    SHORTEST_ANSWER,
    BenchmarkPlan,
    Chats,
    plan_benchmarks,
)
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.paces import LETTERS_PER_SECOND
from training.benchmarks.runs.request import KIND
from training.benchmarks.tasks.excluir import ExcluIR, Exclusion
from training.models.size import BUILT_IN_WEIGHT, weight_of

PRICED = ModelChoice(
    name="some-llm",
    architecture="chat",
    base_url="http://127.0.0.1:9/v1",
    max_tokens=100,
    price=Price(prompt=2.0, completion=8.0),
)


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def planned(
    engine: Engine, settings: Settings, *models: ModelChoice, data: tuple[DataChoice, ...]
) -> BenchmarkPlan:
    with reading(engine) as session:
        return plan_benchmarks(session, settings, models, data)


def chats(plan: BenchmarkPlan) -> Chats:
    found = plan.models[0].chats
    assert found is not None
    return found


def test_items_questions_and_distinct_texts_are_counted(engine: Engine, settings: Settings) -> None:
    data = semantoneg(settings), nevir(settings)
    plan = planned(engine, settings, ModelChoice(architecture="random"), data=data)
    assert plan[:4] == (6 + 2, 6 + 4, 12 + 8, ())
    assert plan.models[0].seconds == 0.0


def test_data_that_the_hub_has_yet_to_send_are_named(engine: Engine, settings: Settings) -> None:
    data = DataChoice(benchmark="nevir"), semantoneg(settings)
    plan = planned(engine, settings, PRICED, data=data)
    assert (plan.items, plan.unknown) == (6, ("NevIR",))


def test_a_release_is_counted_by_its_families(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TEST)
        create_release(session)
    assert planned(engine, settings, data=(DataChoice(benchmark="hedgerow"),)).items == 3


def test_a_file_is_read_once(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = semantoneg(settings, "once.jsonl")
    with reading(engine) as session:
        first = size(session, settings.data_folder, choice)
        monkeypatch.setattr(sizes, "size_of", lambda data: pytest.fail("read again"))
        assert size(session, settings.data_folder, choice) == first


def test_long_texts_count_as_far_as_an_encoder_reads_them() -> None:
    long = "x" * 5 * READ
    found = size_of(ExcluIR([Exclusion("1", "query", long, "short")]))
    assert (found.letters, found.pair_letters) == (READ + 10, READ + 10)
    assert found.prompt_letters > len(long), "a chat model reads it all"


def test_the_reported_number_of_prompts_is_the_number_asked(
    engine: Engine, settings: Settings, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    server.says = lambda prompt: "1"
    data = nevir(settings), semantoneg(settings)
    model = PRICED.model_copy(update={"base_url": address})
    found = chats(planned(engine, settings, model, data=data))
    ran(engine, settings, model, benchmarks=data)
    assert found.prompts == len(server.asked) == 8 + 18
    assert found.tokens_in == tokens(sum(map(len, server.asked)))


def test_the_cost_of_a_chat_model_is_between_a_word_and_full_length(
    engine: Engine, settings: Settings
) -> None:
    found = chats(planned(engine, settings, PRICED, data=(semantoneg(settings),)))
    tokens = round(found.tokens_in)
    assert found.tokens_out == 18 * SHORTEST_ANSWER
    assert found.cost == pytest.approx((tokens * 2 + 18 * SHORTEST_ANSWER * 8) / 1e6)
    assert found.most == pytest.approx((tokens * 2 + 18 * 100 * 8) / 1e6)
    free = PRICED.model_copy(update={"price": Price()})
    found = chats(planned(engine, settings, free, data=(semantoneg(settings),)))
    assert (found.cost, found.most) == (None, None)


def add_took(engine: Engine, model: str, kind: str, host: str = "", **took: float) -> None:
    """An earlier result with its time and tokens."""
    with writing(engine) as session:
        run = Run(kind=KIND, parameters={}, folder="x", host=host or socket.gethostname())
        session.add(run)
        session.flush()
        values = {"units": 1000.0, "seconds": 10.0, "weight": 0.0, "tokens_out": 0.0} | took
        session.add(
            BenchmarkResult(
                run_id=run.id,
                kind="negation",
                benchmark="nevir",
                model=model,
                architecture=kind,
                metric="m",
                score=1.0,
                summary={"took": values},
                file="rows",
            )
        )


def letters(engine: Engine, settings: Settings, choice: DataChoice) -> Size:
    with reading(engine) as session:
        found = size(session, settings.data_folder, choice)
    assert found is not None
    return found


def test_earlier_answers_say_how_long_answers_are(engine: Engine, settings: Settings) -> None:
    add_took(engine, "some-llm", "chat", units=10.0, seconds=20.0, tokens_out=3000.0)
    plan = planned(engine, settings, PRICED, data=(semantoneg(settings),))
    assert (chats(plan).tokens_out, chats(plan).most) == (18 * 300, None)
    assert plan.models[0].seconds == 18 * 2.0


def model_folder(path: Path, layers: int, width: int) -> ModelChoice:
    path.mkdir()
    config = {"num_hidden_layers": layers, "hidden_size": width}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return ModelChoice(name=str(path))


def test_the_time_estimate_uses_the_built_in_encoders_speed_and_the_models_size(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    data = semantoneg(settings)
    large = model_folder(tmp_path / "large", 12, 768)
    names = ModelChoice(name=DEFAULT_ENCODER), large, ModelChoice(name="owner/not-here")
    built_in, larger, unknown = planned(engine, settings, *names, data=(data,)).models
    seconds = letters(engine, settings, data).letters / LETTERS_PER_SECOND
    assert built_in.seconds == pytest.approx(LOADING + seconds)
    assert larger.seconds == pytest.approx(LOADING + 8 * seconds)
    assert unknown.seconds is None


def test_the_time_estimate_uses_earlier_results_on_this_machine(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    data = semantoneg(settings)
    own, other = model_folder(tmp_path / "own", 6, 384), model_folder(tmp_path / "other", 12, 384)
    add_took(engine, own.name, "bi-encoder", host="elsewhere", units=1e9)
    add_took(engine, own.name, "bi-encoder", seconds=0.1, units=1e9)  # too short
    work = letters(engine, settings, data).letters
    slow = planned(engine, settings, own, data=(data,)).models[0].seconds
    assert slow == pytest.approx(LOADING + work / LETTERS_PER_SECOND)
    add_took(engine, own.name, "bi-encoder", weight=BUILT_IN_WEIGHT)
    first, second = planned(engine, settings, own, other, data=(data,)).models
    assert first.seconds == pytest.approx(LOADING + work / 100)
    assert second.seconds == pytest.approx(LOADING + 2 * work / 100)
    cross = ModelChoice(name=own.name, architecture="cross-encoder")
    found = planned(engine, settings, cross, data=(data,)).models[0].seconds
    pairs = letters(engine, settings, data).pair_letters
    assert found == pytest.approx(LOADING + pairs / LETTERS_PER_SECOND), "another architecture"


def test_damaged_configurations_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"num_hidden_layers": "many", "hidden_size": []}')
    assert weight_of(tmp_path) == 0.0
