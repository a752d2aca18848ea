"""Benchmark runs: each result is stored immediately, and nothing is measured twice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from curation.release.freezing import create_release
from db.engine import create_engine, reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState, Split
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.checkpoints import checkpoint
from tests.support.databases import Copies
from tests.training.benchmarks.conftest import tiny_colbert as tiny_colbert
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tokenizer as tokenizer
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
from training.benchmarks.data.sources import DataChoice, open_data
from training.benchmarks.results.measure import measure
from training.benchmarks.results.queries import full_result, of_run
from training.benchmarks.runs import lifecycle
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
