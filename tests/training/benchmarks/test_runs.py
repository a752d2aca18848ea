"""Benchmark runs: their forecast, and results that are stored immediately and measured once."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import fingerprint
from curation.encoders.model_folders import DEFAULT_ENCODER
from curation.generation.prompts import find_version, save_copy, seed_prompts
from curation.generation.request import Price
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Run, RunState, Split
from db.runs import get_run
from db.settings import Settings
from tests.curation.support.families import add_plain_family
from tests.support.checkpoints import checkpoint
from tests.support.databases import stored_run
from tests.support.factories import freeze
from tests.training.benchmarks.support.running import (
    add,
    carried_out,
    nevir,
    ran,
    requested,
    results,
    semantoneg,
    stopping,
)
from training.benchmarks.results.queries import full_result, newest, of_run, paired
from training.benchmarks.results.statistics import compare
from training.benchmarks.runs import lifecycle
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.runs.paces import LETTERS_PER_SECOND, READ, size, size_of, units
from training.benchmarks.runs.request import (
    LOADING,
    SHORTEST_ANSWER,
    BenchmarkPlan,
    Chats,
    plan_benchmarks,
)
from training.benchmarks.scorers.architecture import load_scorer
from training.benchmarks.scorers.interface import TfIdf, measure
from training.benchmarks.scorers.prompted.wording import PromptVersions
from training.benchmarks.sources import DataChoice, open_data
from training.benchmarks.tasks.excluir import ExcluIR, Exclusion
from training.finetune.compute.devices import device_to_oneself
from training.models.known import BUILT_IN_WEIGHT, weight_of

TF_IDF, RANDOM = ModelChoice(architecture="tf-idf"), ModelChoice(architecture="random")


def test_every_model_is_measured_with_every_benchmark(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Mock(wraps=lifecycle.scorer_of)
    monkeypatch.setattr(lifecycle, "scorer_of", load)
    data = semantoneg(settings), nevir(settings)
    run = requested(engine, settings, ModelChoice(name=f"{tiny_encoder}/"), TF_IDF, benchmarks=data)
    assert carried_out(engine, settings, run) == {"run": run.id, "measured": 4, "left_out": []}
    loaded = [call.args[0].name for call in load.call_args_list]
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
    tf_idf = rows["TF-IDF", "semantoneg"]
    test = paired(settings.data_folder, tf_idf, row).comparison
    assert test == compare(full_result(settings.data_folder, tf_idf), direct)
    unread = rows["TF-IDF", "nevir"]
    with pytest.raises(HedgerowError, match="different data"):
        paired(settings.data_folder, row, unread)
    (settings.data_folder / unread.file).unlink()
    with pytest.raises(HedgerowError, match="Could not read"):
        full_result(settings.data_folder, unread)
    assert (rows["TF-IDF", "nevir"].model_hash, rows["TF-IDF", "nevir"].kind) == ("", "negation")
    versions = stored_run(engine, run.id).versions
    assert {"torch", "sentence-transformers", "mteb"} <= versions.keys()


def test_a_failure_leaves_the_rest_and_only_it_is_repeated(
    engine: Engine,
    settings: Settings,
    tiny_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_memory = RuntimeError("CUDA out of memory.\nTried to allocate 2 GiB.")
    model = Path(shutil.copytree(tiny_encoder, tmp_path / "model"))
    choices = TF_IDF, ModelChoice(name=str(model)), RANDOM
    run = requested(engine, settings, *choices, benchmarks=(semantoneg(settings),))
    aside = model.rename(tmp_path / "aside")
    with monkeypatch.context() as full:
        full.setattr(TfIdf, "score", Mock(side_effect=no_memory))
        with pytest.raises(HedgerowError, match=r"2 could not .*\(1 .*CUDA out of memory\.[^T]*$"):
            carried_out(engine, settings, run)
    assert stored_run(engine, run.id).state is RunState.FAILED
    first = results(engine)
    assert {name for name, _ in first} == {"random scores"}
    aside.rename(model)
    assert carried_out(engine, settings, run)["measured"] == 3
    kept = "random scores", "semantoneg"
    assert results(engine)[kept].id == first[kept].id
    with reading(engine) as session:
        assert len(of_run(session, run.id)) == 3


def test_without_a_gpu_an_encoder_does_not_wait_for_a_training(
    engine: Engine, settings: Settings, tiny_encoder: Path
) -> None:
    run = requested(
        engine, settings, ModelChoice(name=str(tiny_encoder)), benchmarks=(nevir(settings),)
    )
    with device_to_oneself(lambda _: None, lock=settings.training_lock):
        assert carried_out(engine, settings, run)["measured"] == 1


def test_a_cancelled_run_keeps_what_it_has_also_while_it_waits_for_its_turn(
    engine: Engine, settings: Settings, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.benchmarks.runs.lifecycle.visible_gpus", lambda: ["0"])
    models = TF_IDF, ModelChoice(name=str(tiny_encoder))
    data = semantoneg(settings), nevir(settings)
    run = requested(engine, settings, *models, benchmarks=data)
    with device_to_oneself(lambda _: None, lock=settings.training_lock):
        with pytest.raises(HedgerowError, match="cancelled"):
            carried_out(engine, settings, run, stopping(after="Waiting for other work"))
        assert {model for model, _ in results(engine)} == {"TF-IDF"}, "it needs no device"
    with pytest.raises(HedgerowError, match="cancelled"):
        carried_out(engine, settings, run, stopping(after="encoder, SemAntoNeg: 0 of"))
    assert {model for model, _ in results(engine)} == {"TF-IDF"}
    row = stored_run(engine, run.id)
    assert row.state is RunState.CANCELLED and 0 < row.step < row.total == 16
    assert carried_out(engine, settings, run)["measured"] == 4


EDITED = "A: {first}\nB: {second}\nSearch: {query}\nWhich one, 1 (A) or 2 (B)?"


@pytest.mark.slow
def test_a_causal_model_is_measured_and_results_of_other_prompts_are_another_line(
    engine: Engine, settings: Settings, small_llama: Path
) -> None:
    data, model = (nevir(settings), semantoneg(settings)), ModelChoice(name=str(small_llama))
    before = requested(engine, settings, model, benchmarks=data)
    with writing(engine) as session:
        (planned,) = plan_benchmarks(session, settings, (model,), data).models
        seed_prompts(session)
        save_copy(session, find_version(session, "relevance", None), EDITED, author_id=None)
    assert planned.seconds and planned.chats is None
    carried_out(engine, settings, before)
    newest_versions = {"relevance": 1, "similarity": 1, "paraphrase_choice": 1}
    assert stored_run(engine, before.id).parameters["asked_with"] == newest_versions
    ran(engine, settings, model, benchmarks=data)
    ran(engine, settings, model, benchmarks=data[:1], asked_with=PromptVersions(relevance=1))
    with reading(engine) as session:
        rows = newest(session)
    assert (rows[0].benchmark, rows[0].scoring) == ("nevir", ""), "the version that was named"
    assert {row.title for row in rows} == {
        f"{small_llama.name} (causal-lm)",
        f"{small_llama.name} (causal-lm, relevance prompt 2)",
    }
    (edited,) = [row for row in rows if row.scoring]
    assert edited.scoring.startswith("prompts ") and edited.asked["template"] == EDITED
    assert (edited.asked["prompt"], edited.asked["version"]) == ("relevance", 2)
    (three,) = [row for row in rows if row.benchmark == "semantoneg"]
    assert three.scoring == "", "it is not asked with the prompt that was edited"
    assert (three.asked["prompt"], three.asked["orders"]) == ("paraphrase_choice", 3)
    assert full_result(settings.data_folder, three).asked == three.asked
    assert three.architecture == "causal-lm" and len(three.model_hash) == 64


CHAT = ModelChoice(name="some-llm", architecture="chat")


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"suites": ("quick",)}, "one model"),
        ({"models": (TF_IDF,)}, "one benchmark"),
        ({"models": (TF_IDF,), "suites": ("huge",)}, "quick, lite, nano, full"),
        ({"models": (TF_IDF,), "suites": ("quick",)}, "an embedding model"),
        ({"models": (TF_IDF,), "tasks": ("STSBenchmrk",)}, "'STSBenchmrk'.*'STSBenchmark'"),
        ({"models": (TF_IDF,), "tasks": (" ",)}, "empty"),
        ({"models": (TF_IDF,), "tasks": ("<img src=x>",)}, "a task of mteb"),
        ({"models": (TF_IDF,), "tasks": ("CIFAR10ZeroShot",)}, "English texts"),
        ({"models": (TF_IDF,), "tasks": ("ATEC",)}, "English texts.*'ATEC'"),
        ({"models": (ModelChoice(name="/nowhere"),), "suites": ("quick",)}, "no model folder"),
        (
            {"models": (ModelChoice(name="x", architecture="lstm"),), "suites": ("quick",)},
            "bi-encoder, .*, causal-lm, dpr,",
        ),
        ({"models": (TF_IDF,), "benchmarks": (DataChoice(benchmark="hedgerow"),)}, "no release"),
        ({"models": (TF_IDF,), "asked_with": PromptVersions(relevance=1)}, "a language model"),
        ({"models": (CHAT,), "asked_with": PromptVersions(relevance=7)}, "1 to 1, found 7"),
    ],
)
def test_impossible_requests(
    engine: Engine, settings: Settings, asked: dict[str, Any], fact: str
) -> None:
    if "asked_with" in asked:
        asked = asked | {"benchmarks": (nevir(settings),)}
    with pytest.raises(HedgerowError, match=fact):
        requested(
            engine,
            settings,
            *asked.get("models", ()),
            **{key: asked[key] for key in asked if key != "models"},
        )
    with reading(engine) as session:
        assert session.get(Run, 1) is None
    for architecture in ("", "chat", "monot5"):
        with pytest.raises(ValueError, match="name"):
            ModelChoice(architecture=architecture)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "run_as", "found"),
    [
        ("T5ForConditionalGeneration", ("bi-encoder", "cross-encoder"), "monot5"),
        ("T5Model", ("",), "T5Model"),
        ("LlamaForCausalLM", ("bi-encoder",), "causal-lm"),
        ("T5EncoderModel", ("causal-lm",), "bi-encoder"),
        ("BertForSequenceClassification", ("bi-encoder",), "cross-encoder"),
    ],
)
def test_a_checkpoint_is_not_run_as_another_architecture(
    engine: Engine,
    settings: Settings,
    tmp_path: Path,
    architecture: str,
    run_as: tuple[str, ...],
    found: str,
) -> None:
    name = str(checkpoint(architecture, tmp_path))
    for other in run_as:
        choice = ModelChoice(name=name, architecture=other)
        with pytest.raises(HedgerowError, match=f"found (a )?{found}"):
            requested(engine, settings, choice, benchmarks=(semantoneg(settings),))
    with reading(engine) as session:
        assert session.get(Run, 1) is None


PRICED = ModelChoice(
    name="some-llm",
    architecture="chat",
    base_url="http://127.0.0.1:9/v1",
    max_tokens=100,
    price=Price(prompt=2.0, completion=8.0),
)


def planned(engine: Engine, settings: Settings, *models: ModelChoice, data: Any) -> BenchmarkPlan:
    with reading(engine) as session:
        return plan_benchmarks(session, settings, models, data)


@pytest.mark.slow
def test_items_questions_and_distinct_texts_are_counted(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = semantoneg(settings), nevir(settings)
    plan = planned(engine, settings, ModelChoice(architecture="random"), data=data)
    assert plan[:4] == (6 + 2, 6 + 4, 12 + 8, ())
    assert plan.models[0].seconds == 0.0
    monkeypatch.setattr(
        "training.benchmarks.runs.paces.size_of", lambda data: pytest.fail("read again")
    )
    of_hub = DataChoice(benchmark="nevir")
    plan = planned(engine, settings, PRICED, data=(of_hub, data[0]))
    assert (plan.items, plan.unknown) == (6, ("NevIR",)), "the hub has yet to send it"
    monkeypatch.undo()
    with writing(engine) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TEST)
        freeze(session)
    release = (DataChoice(benchmark="hedgerow"),)
    assert planned(engine, settings, data=release).items == 3
    ran(engine, settings, RANDOM, benchmarks=release)
    row = results(engine)["random scores", "hedgerow"]
    assert (row.data, row.release) == ("release 1, test split", 1)
    rows = full_result(settings.data_folder, row).rows
    assert len(rows) == 3 and all(r.uids.keys() == r.texts.keys() for r in rows)
    with reading(engine) as session:
        found = size(session, settings.data_folder, data[1])
    assert found and units(found, "causal-lm") == found.prompt_letters > 2 * found.pair_letters
    long = "x" * 5 * READ
    found = size_of(ExcluIR([Exclusion("1", "query", long, "short")]))
    assert (found.letters, found.pair_letters) == (READ + 10, READ + 10), "as encoders read it"
    assert found.prompt_letters > len(long), "a chat model reads it all"


def add_took(engine: Engine, model: str, kind: str, host: str = "", **took: float) -> None:
    """An earlier result with its time and tokens."""
    values = {"units": 1000.0, "seconds": 10.0, "weight": 0.0, "tokens_out": 0.0} | took
    with writing(engine) as session:
        row = {"model": model, "architecture": kind, "summary": {"took": values}, "file": "rows"}
        run_id = add(session, **row).run_id
        get_run(session, run_id).host = host or socket.gethostname()


def test_the_cost_of_a_chat_model_is_between_a_word_and_full_length(
    engine: Engine, settings: Settings
) -> None:
    data = (semantoneg(settings),)

    def chats(model: ModelChoice) -> Chats:
        found = planned(engine, settings, model, data=data).models[0].chats
        assert found is not None
        return found

    found = chats(PRICED)
    tokens = round(found.tokens_in)
    assert found.tokens_out == 18 * SHORTEST_ANSWER
    assert found.cost == pytest.approx((tokens * 2 + 18 * SHORTEST_ANSWER * 8) / 1e6)
    assert found.most == pytest.approx((tokens * 2 + 18 * 100 * 8) / 1e6)
    free = chats(PRICED.model_copy(update={"price": Price()}))
    assert (free.cost, free.most) == (None, None)
    add_took(engine, "some-llm", "chat", units=10.0, seconds=20.0, tokens_out=3000.0)
    found = chats(PRICED)
    assert (found.tokens_out, found.most) == (18 * 300, None), "as long as earlier answers"
    assert planned(engine, settings, PRICED, data=data).models[0].seconds == 18 * 2.0


def model_folder(path: Path, layers: int, width: int) -> ModelChoice:
    path.mkdir()
    config = {"num_hidden_layers": layers, "hidden_size": width}
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return ModelChoice(name=str(path))


def test_the_time_estimate_uses_the_models_size_and_earlier_results_on_this_machine(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    data = (semantoneg(settings),)
    own, other = model_folder(tmp_path / "own", 6, 384), model_folder(tmp_path / "other", 12, 768)
    cross = ModelChoice(name=own.name, architecture="cross-encoder")
    models = own, other, cross, ModelChoice(name=DEFAULT_ENCODER), ModelChoice(name="owner/unknown")

    def seconds() -> list[float]:
        found = planned(engine, settings, *models, data=data).models
        assert found[-1].seconds is None
        return [(model.seconds or 0.0) - LOADING for model in found[:-1]]

    with reading(engine) as session:
        found = size(session, settings.data_folder, data[0])
    assert found is not None
    work, pairs = found.letters / LETTERS_PER_SECOND, found.pair_letters / LETTERS_PER_SECOND
    usual = pytest.approx([work, 8 * work, pairs, work])
    assert seconds() == usual, "as the built-in encoder is"
    add_took(engine, own.name, "bi-encoder", host="elsewhere", units=1e9)
    add_took(engine, own.name, "bi-encoder", seconds=0.1, units=1e9)  # too short
    assert seconds() == usual
    add_took(engine, own.name, "bi-encoder", weight=BUILT_IN_WEIGHT)
    slow = found.letters / 100
    assert seconds() == pytest.approx([slow, 8 * slow, pairs, slow])
    (tmp_path / "config.json").write_text('{"num_hidden_layers": "many", "hidden_size": []}')
    assert weight_of(tmp_path) == 0.0
