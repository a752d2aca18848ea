"""Benchmark runs: each result is stored immediately, and nothing is measured twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from curation.generation.choices import raise_budget
from curation.generation.request import Budget, Price
from curation.release.freezing import create_release
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Run, RunState, Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.checkpoints import checkpoint
from tests.support.databases import Copies
from tests.support.generating import Serve
from tests.support.generating import serve_chat as serve_chat
from tests.training.benchmarks.conftest import tiny_colbert as tiny_colbert
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tokenizer as tokenizer
from tests.training.benchmarks.support.running import (
    carried_out,
    nevir,
    ran,
    requested,
    semantoneg,
)
from training.benchmarks.data.sources import DataChoice, open_data
from training.benchmarks.results.measure import measure
from training.benchmarks.results.queries import Scored, full_result, newest, of_run
from training.benchmarks.runs import lifecycle
from training.benchmarks.runs.lifecycle import work
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.request import BenchmarkRequest, request_benchmarks
from training.benchmarks.runs.token_maps import token_matrix
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.lexical import TfIdf
from training.benchmarks.tasks import general
from training.finetune.compute.devices import device_to_oneself

TF_IDF, RANDOM = ModelChoice(architecture="tf-idf"), ModelChoice(architecture="random")


@pytest.fixture
def engine(home: Path, copies: Copies) -> Engine:
    return create_engine(copies.migrated(home / "hedgerow.db"))


def results(engine: Engine) -> dict[tuple[str, str], Scored]:
    with reading(engine) as session:
        return {(row.model, row.benchmark): row for row in newest(session)}


def run_of(engine: Engine, number: int) -> Run:
    with reading(engine) as session:
        return get_run(session, number)


def test_every_model_is_measured_with_every_benchmark(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load = lifecycle.scorer_of

    def counted(found: Any, settings: Settings, **more: Any) -> Any:
        loaded.append(found.name)
        return load(found, settings, **more)

    monkeypatch.setattr(lifecycle, "scorer_of", counted)
    data = semantoneg(settings), nevir(settings)
    run = requested(engine, settings, ModelChoice(name=f"{tiny_encoder}/"), TF_IDF, benchmarks=data)
    result = carried_out(engine, settings, run)
    assert result == {"run": run.id, "measured": 4, "left_out": []}
    assert loaded == [str(tiny_encoder), "TF-IDF"], "each is loaded once"
    rows = results(engine)
    row = rows[str(tiny_encoder), "semantoneg"]
    with reading(engine) as session:
        items = open_data(session, settings.data_folder, data[0]).benchmark
    direct = measure(items, load_scorer(str(tiny_encoder)))
    assert (row.score, row.n, row.data_hash) == (direct.score, 6, items.data_hash())
    assert (row.model_hash, row.architecture) == (fingerprint(tiny_encoder), "bi-encoder")
    assert row.data == "sample.jsonl" and row.interval and row.interval.units <= 6
    assert full_result(settings.data_folder, row).rows == direct.rows
    assert (rows["TF-IDF", "nevir"].model_hash, rows["TF-IDF", "nevir"].kind) == ("", "negation")
    versions = run_of(engine, run.id).versions
    assert {"torch", "sentence-transformers", "mteb"} <= versions.keys()


def test_a_failure_leaves_the_rest_and_only_it_is_repeated(
    engine: Engine, settings: Settings, tiny_encoder: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(tiny_encoder, tmp_path / "model"))
    choices = ModelChoice(name=str(model)), TF_IDF
    run = requested(engine, settings, *choices, benchmarks=(semantoneg(settings),))
    aside = model.rename(tmp_path / "aside")
    with pytest.raises(HedgerowError, match=r"1 could not be measured \(1 result stored; .*model"):
        carried_out(engine, settings, run)
    assert run_of(engine, run.id).state is RunState.FAILED
    first = results(engine)["TF-IDF", "semantoneg"]
    aside.rename(model)
    assert carried_out(engine, settings, run)["measured"] == 2
    assert results(engine)["TF-IDF", "semantoneg"].id == first.id
    with reading(engine) as session:
        assert len(of_run(session, run.id)) == 2


def stopping(after: str) -> Callable[[RunContext], dict[str, Any]]:
    """Do the work, and stop it like a page does after this message."""

    def stopped(context: RunContext) -> dict[str, Any]:
        def listen(step: int, total: int, message: str) -> None:
            if after in message:
                context.interrupt(RunState.CANCELLED)

        context.listener = listen
        return work(context)

    return stopped


def test_a_cancelled_run_keeps_what_it_has(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = requested(
        engine,
        settings,
        TF_IDF,
        ModelChoice(name=str(tiny_encoder)),
        benchmarks=(semantoneg(settings), nevir(settings)),
    )
    with pytest.raises(HedgerowError, match="was cancelled"):
        carried_out(engine, settings, run, stopping(after="encoder, SemAntoNeg: 0 of"))
    assert {model for model, _ in results(engine)} == {"TF-IDF"}
    row = run_of(engine, run.id)
    assert row.state is RunState.CANCELLED and 0 < row.step < row.total == 16
    assert carried_out(engine, settings, run)["measured"] == 4


@pytest.mark.slow
def test_a_model_that_runs_out_of_memory_leaves_the_others_alone(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*args: object, **more: object) -> None:
        raise RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB.")

    monkeypatch.setattr(TfIdf, "score", no_memory)
    run = requested(engine, settings, TF_IDF, RANDOM, benchmarks=(semantoneg(settings),))
    with pytest.raises(HedgerowError, match=r"First: TF-IDF, SemAntoNeg: CUDA out of memory\.$"):
        carried_out(engine, settings, run)
    assert {model for model, _ in results(engine)} == {"random scores"}


def test_computing_runs_wait_for_their_turn(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = requested(
        engine,
        settings,
        TF_IDF,
        ModelChoice(name=str(tiny_encoder)),
        benchmarks=(semantoneg(settings),),
    )
    with device_to_oneself(lambda: None, lock=settings.training_lock):
        with pytest.raises(HedgerowError, match="was cancelled"):
            carried_out(engine, settings, run, stopping(after="Waiting for other work"))
        assert {model for model, _ in results(engine)} == {"TF-IDF"}, "it needs no device"
    assert carried_out(engine, settings, run)["measured"] == 2


def test_a_release_is_measured_by_its_families(engine: Engine, settings: Settings) -> None:
    with writing(engine) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TEST)
        release = create_release(session, author_id=None).release
    ran(engine, settings, RANDOM, benchmarks=(DataChoice(benchmark="hedgerow"),))
    row = results(engine)["random scores", "hedgerow"]
    assert (row.data, row.release) == ("release 1, test split", release.number)
    rows = full_result(settings.data_folder, row).rows
    assert len(rows) == 3 and all(r.uids.keys() == r.texts.keys() for r in rows)


@pytest.fixture
def mock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task that mteb provides for tests, which replaces every other task."""
    from mteb.mocks.mock_tasks.sts import MockSTSTask

    task = MockSTSTask()
    monkeypatch.setattr(general, "tasks", lambda names: [task])
    return task


def test_a_task_of_mteb(
    engine: Engine, settings: Settings, tiny_encoder: Path, tiny_cross: Path, mock: Any
) -> None:
    import mteb

    models = [ModelChoice(name=str(path)) for path in (tiny_encoder, tiny_cross)]
    result = ran(engine, settings, *models, tasks=("STSBenchmark",))
    assert (result["measured"], result["left_out"]) == (1, [f"{tiny_cross.name} (cross-encoder)"])
    ((_, row),) = results(engine).items()
    assert (row.kind, row.benchmark, row.file) == ("general", mock.metadata.name, "")
    assert row.summary["seconds"] > 0 and row.summary["cost"] is None
    assert row.metric == mock.metadata.main_score and mteb.__version__ in row.data
    stored = list((settings.data_folder / "mteb").rglob(f"{row.model_hash}/{row.benchmark}.json"))
    assert len(stored) == 1
    with pytest.raises(HedgerowError, match="items of .* are not stored"):
        full_result(settings.data_folder, row)


def test_a_task_of_mteb_is_stopped_between_two_batches(
    engine: Engine, settings: Settings, tiny_encoder: Path, mock: Any
) -> None:
    run = requested(engine, settings, ModelChoice(name=str(tiny_encoder)), tasks=("STSBenchmark",))
    with pytest.raises(HedgerowError, match="was cancelled"):
        carried_out(engine, settings, run, stopping(after=mock.metadata.name))
    assert results(engine) == {}


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


PRICE = Price(prompt=0.0, completion=1_000_000.0)
"""One dollar per token of an answer. The server's answers have one token."""


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


def test_which_tokens_find_each_other(
    engine: Engine, settings: Settings, tiny_colbert: Path, tiny_encoder: Path
) -> None:
    with reading(engine) as session:
        found = token_matrix(session, settings, str(tiny_colbert), "A cat?", "No cat sleeps.")
        assert found.similarity.shape == (len(found.query), len(found.document))
        with pytest.raises(HedgerowError, match="Expected a late-interaction in"):
            token_matrix(session, settings, str(tiny_encoder), "a", "b")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"suites": ("quick",)}, "Expected at least one model"),
        ({"models": (TF_IDF,)}, "Expected at least one benchmark"),
        ({"models": (TF_IDF,), "suites": ("huge",)}, "quick, lite, nano, full"),
        ({"models": (TF_IDF,), "suites": ("quick",)}, "an embedding model"),
        ({"models": (TF_IDF,), "tasks": ("STSBenchmrk",)}, "'STSBenchmrk' .is it 'STSBenchmark'"),
        ({"models": (TF_IDF,), "tasks": (" ",)}, "found an empty one"),
        ({"models": (TF_IDF,), "tasks": ("<img src=x>",)}, "Expected a task of mteb"),
        ({"models": (TF_IDF,), "tasks": ("CIFAR10ZeroShot",)}, "a task with English texts"),
        ({"models": (TF_IDF,), "tasks": ("ATEC",)}, "English texts, found 'ATEC'"),
        ({"models": (ModelChoice(name="/nowhere"),), "suites": ("quick",)}, "no model folder"),
        (
            {"models": (ModelChoice(name="x", architecture="lstm"),), "suites": ("quick",)},
            "Expected an architecture .bi-encoder, .*, causal-lm, dpr,",
        ),
        ({"models": (TF_IDF,), "benchmarks": (DataChoice(benchmark="hedgerow"),)}, "no release"),
    ],
)
def test_impossible_requests(
    engine: Engine, settings: Settings, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(HedgerowError, match=message), writing(engine) as session:
        request_benchmarks(session, settings, BenchmarkRequest(**asked), requested_by=None)
    with reading(engine) as session:
        assert session.get(Run, 1) is None


@pytest.mark.parametrize("architecture", ["", "chat", "monot5"])
def test_a_model_without_a_name_is_refused(architecture: str) -> None:
    with pytest.raises(ValueError, match="enter the model's name"):
        ModelChoice(architecture=architecture)


@pytest.mark.parametrize(
    ("architecture", "run_as", "message"),
    [
        ("T5ForConditionalGeneration", "bi-encoder", "found a monot5; choose that"),
        ("T5ForConditionalGeneration", "cross-encoder", "found a monot5; choose that"),
        ("T5Model", "", "found T5Model: a sequence-to-sequence"),
        ("LlamaForCausalLM", "bi-encoder", "found a causal-lm; choose that"),
        ("T5EncoderModel", "causal-lm", "found a bi-encoder; choose that"),
        ("BertForSequenceClassification", "bi-encoder", "found a cross-encoder; choose that"),
    ],
)
def test_a_checkpoint_that_is_not_an_encoder_is_not_benchmarked(
    engine: Engine, settings: Settings, tmp_path: Path, architecture: str, run_as: str, message: str
) -> None:
    choice = ModelChoice(name=str(checkpoint(architecture, tmp_path)), architecture=run_as)
    with pytest.raises(HedgerowError, match=message):
        requested(engine, settings, choice, benchmarks=(semantoneg(settings),))
    with reading(engine) as session:
        assert session.get(Run, 1) is None
