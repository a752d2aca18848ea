"""Models measured with tasks of MTEB, and language models with tasks of lm-evaluation-harness."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine

from curation.encoders.loading import load_encoder
from db.errors import HedgerowError, RunCancelled
from db.settings import Settings
from tests.support.harness_tasks import CHOICES, OPPOSITES, save_own_tasks, small_data_set
from tests.support.small_llama import save_small_llama
from tests.training.benchmarks.support.running import (
    carried_out,
    ran,
    requested,
    results,
    semantoneg,
    stopping,
)
from tests.training.benchmarks.support.samples import write_lines
from training.benchmarks.definition import Result
from training.benchmarks.harness_names import KNOWN, own_names, own_task, require_known
from training.benchmarks.harness_tasks import PART, load_task, measure
from training.benchmarks.results.queries import full_result
from training.benchmarks.runs import lifecycle
from training.benchmarks.runs.measured_models import ModelChoice
from training.benchmarks.tasks import general

Measured = Callable[..., Result]


@pytest.fixture
def measured(small_llama: Path) -> Measured:
    """Measures a small Llama with a task."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(small_llama)
    model = AutoModelForCausalLM.from_pretrained(small_llama)
    return lambda task, report=lambda *_: None: measure(model, tokenizer, task, on_progress=report)


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """A request for both of the user's tasks."""
    folder = save_own_tasks(tmp_path / "tasks")
    return {"language_tasks": ("opposites", "sums"), "tasks_folder": str(folder)}


def test_a_user_defined_task(measured: Measured, tmp_path: Path) -> None:
    task = load_task("opposites", save_own_tasks(tmp_path))
    with pytest.raises(RunCancelled):
        measured(task, Mock(side_effect=[None, None, RunCancelled]))
    report = Mock()
    result = measured(task, report)
    assert (result.benchmark, result.metric, result.n) == ("lm_eval:opposites", "accuracy", 4)
    assert report.call_args.args == (8, 8), "a request for each choice"
    likelier = [row.scores[0] > row.scores[1] for row in result.rows]
    assert [row.right for row in result.rows] == likelier
    assert result.score == pytest.approx(result.figures["acc"]) == 25 * sum(likelier)
    for row, item in zip(result.rows, OPPOSITES, strict=True):
        assert row.texts["question"] == f"{item['question']}\nAnswer:"
        assert row.texts["right answer"] == item["choices"][0]
        assert (row.texts["answer"] == item["choices"][0]) == row.right
    assert load_task("opposites", tmp_path).data_hash == result.data_hash
    write_lines(tmp_path / "opposites.jsonl", OPPOSITES[:1])
    assert load_task("opposites", tmp_path).data_hash != result.data_hash, "other items"


def test_a_task_that_cannot_be_measured(measured: Measured, tmp_path: Path) -> None:
    code = CHOICES.replace("{{question}}", "{{ ''.__class__.__mro__ }}")
    folder = save_own_tasks(tmp_path, opposites=code)
    with pytest.raises(HedgerowError, match="opposites .*SecurityError"):
        load_task("opposites", folder)
    text = (folder / "sums.yaml").read_text(encoding="utf-8")
    (folder / "sums.yaml").write_text(text.replace("max_gen_toks: 4", "max_gen_toks: 4000"))
    with pytest.raises(HedgerowError, match=r"sums .*maximum sequence length"):
        measured(load_task("sums", folder))
    (folder / "sums.jsonl").unlink()
    with pytest.raises(HedgerowError, match=r"sums .*sums\.jsonl"):
        load_task("sums", folder)


@pytest.mark.parametrize(
    ("name", "items", "question", "shots"),
    [
        ("mmlu", 114, "Answer:", 6),
        ("hellaswag", 2, "museum", 1),
        ("gsm8k", 2, "Question:", 6),
    ],
)
def test_the_tasks_of_table_3(
    name: str,
    items: int,
    question: str,
    shots: int,
    measured: Measured,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    import datasets

    with pytest.raises(HedgerowError, match="is not on this machine"):
        load_task(name)
    monkeypatch.setattr(datasets, "load_dataset", small_data_set)
    task = load_task(name)
    assert (task.title, task.items) == (KNOWN[name].title, items)
    sys.modules.pop("lm_eval.tasks.hellaswag.utils", None)  # as in another process
    assert load_task(name).data_hash == task.data_hash
    for part in task.parts.values():
        part.build_all_requests(rank=0, world_size=1)
        assert all(one.args[0].count(question) == shots for one in part.instances)
    capfd.readouterr()
    result = measured(task)
    assert capfd.readouterr() == ("", ""), "the harness's bars stay out of the terminal"
    own = {
        "mmlu": 100 * sum(row.right or False for row in result.rows) / items,
        "hellaswag": result.figures.get("acc_norm"),
        "gsm8k": result.figures.get("exact_match, strict-match"),
    }[name]
    assert (result.n, result.score) == (items, pytest.approx(own))
    if name == "mmlu":
        assert len(result.breakdowns[PART]) == 57
        assert result.figures["mmlu: acc"] == pytest.approx(result.score)
        assert result.figures.keys() >= {"mmlu_stem: acc", "mmlu_humanities: acc"}


def test_models_are_measured_item_by_item_and_a_failing_task_leaves_the_others_alone(
    engine: Engine, settings: Settings, small_llama: Path, tmp_path: Path, own: dict[str, Any]
) -> None:
    other = save_small_llama(tmp_path / "other", seed=1)
    models = [ModelChoice(name=str(folder)) for folder in (small_llama, other)]
    own |= {"language_tasks": ("opposites", "gsm8k", "sums"), "benchmarks": (semantoneg(settings),)}
    run = requested(engine, settings, *models, ModelChoice(architecture="random"), **own)
    with pytest.raises(HedgerowError, match=r"1 could not be measured \(7 results stored.*GSM8K"):
        carried_out(engine, settings, run)
    rows = results(engine)
    base, changed = (rows[str(name), "lm_eval:opposites"] for name in (small_llama, other))
    assert (base.kind, base.architecture, base.n) == ("general", "causal-lm", 4)
    assert base.model_hash != changed.model_hash and base.data_hash == changed.data_hash
    sums = full_result(settings.data_folder, rows[str(small_llama), "lm_eval:sums"])
    assert (sums.n, sums.metric, sums.score) == (3, "exact match", 0)
    assert sums.unanswered == 3 and all(row.texts["answer"] for row in sums.rows), "no number"
    first, second = (full_result(settings.data_folder, row) for row in (base, changed))
    assert first.score == base.score and len(first.rows) == 4
    assert [row.scores for row in first.rows] != [row.scores for row in second.rows]


def test_missing_data_and_models_are_reported_before_anything_is_loaded(
    engine: Engine,
    settings: Settings,
    small_llama: Path,
    tiny_encoder: Path,
    tmp_path: Path,
    own: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("scorer_of", "device_to_oneself"):
        monkeypatch.setattr(lifecycle, name, lambda *_, **__: pytest.fail("It is loaded."))
    pickled = Path(shutil.copytree(small_llama, tmp_path / "pickled"))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    mmlu = {"language_tasks": ("mmlu",)}
    for model, tasks, fact in (
        (small_llama, mmlu, "not on this machine"),
        ("all-MiniLM-L6-v2", {"tasks": ("STS12",)}, "STS12 is not on this machine"),
        (tiny_encoder, own, "language models"),
        (pickled, own, "safetensors"),
    ):
        with pytest.raises(HedgerowError, match=fact):
            ran(engine, settings, ModelChoice(name=str(model)), **tasks)
    with pytest.raises(HedgerowError, match="causal-lm"):
        requested(engine, settings, ModelChoice(architecture="tf-idf"), **own)


@pytest.mark.slow
def test_the_suites_are_in_the_installed_mteb() -> None:
    import mteb

    kinds = {
        name: Counter(task.metadata.type for task in general.tasks(tasks))
        for name, tasks in general.SUITES.items()
    }
    assert kinds["lite"] == {
        "Retrieval": 3,
        "Reranking": 2,
        "Clustering": 3,
        "Classification": 3,
        "PairClassification": 1,
        "STS": 3,
        "Summarization": 1,
    }
    assert kinds["full"].keys() == kinds["lite"].keys() and kinds["full"].total() == 56
    assert kinds["nano"] == {"Retrieval": 13}
    assert kinds["quick"].keys() == kinds["lite"].keys() - {"PairClassification"}
    own = {task.metadata.name for task in mteb.get_benchmark(general.ENGLISH).tasks}
    assert own == set(general.SUITES["full"]) and set(general.SUITES["lite"]) < own
    by_name = {task.metadata.name: task for task in general.tasks(general.SUITES["full"])}
    assert by_name["STS17"].hf_subsets == ["en-en"]
    assert by_name["MSMARCO"].eval_splits == ["dev"]
    with pytest.raises(HedgerowError, match="'NoSuchTask'"):
        general.tasks(["NoSuchTask"])


@pytest.fixture
def mock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task of two sentence pairs that mteb provides for tests, which replaces every other
    task."""
    from mteb.mocks.mock_tasks.sts import MockSTSTask

    task = MockSTSTask()
    monkeypatch.setattr(general, "tasks", lambda names: [task for _ in names])
    return task


def test_a_task_is_measured_once_and_kept_as_mteb_keeps_it(
    engine: Engine,
    settings: Settings,
    tiny_encoder: Path,
    tiny_cross: Path,
    mock: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import mteb

    name = mock.metadata.name
    models = [ModelChoice(name=str(path)) for path in (tiny_encoder, tiny_cross)]
    stopped = requested(engine, settings, models[0], tasks=("STSBenchmark",))
    with pytest.raises(HedgerowError, match="cancelled"):  # between two batches
        carried_out(engine, settings, stopped, stopping(after=name))
    assert results(engine) == {}
    result = ran(engine, settings, *models, tasks=("STSBenchmark",))
    assert (result["measured"], result["left_out"]) == (1, [f"{tiny_cross.name} (cross-encoder)"])
    (row,) = results(engine).values()
    assert (row.kind, row.benchmark, row.file) == ("general", name, "")
    assert row.summary["seconds"] > 0 and row.summary["cost"] is None
    assert row.metric == mock.metadata.main_score and mteb.__version__ in row.data
    with pytest.raises(HedgerowError, match="are not stored"):
        full_result(settings.data_folder, row)
    (path,) = (settings.data_folder / "mteb").rglob(f"{row.model_hash}/{name}.json")
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["mteb_version"] == mteb.__version__
    assert 100 * stored["scores"]["test"][0]["main_score"] == pytest.approx(row.score)
    monkeypatch.setattr(mteb, "evaluate", None)
    model = load_encoder(str(tiny_encoder))
    place, revision = path.parent.parent, row.model_hash
    how: dict[str, Any] = {"name": place.name, "revision": revision, "folder": place.parents[1]}
    report = Mock()
    (again,) = general.run_tasks(model, [mock], **how, on_progress=report)
    report.assert_called_once_with(0, 1, name)
    assert (again.task, again.kind) == (name, "STS")
    assert again.score == pytest.approx(row.score, abs=1e-3), "it is not run again"


def test_a_task_whose_data_cannot_be_had(
    tiny_encoder: Path, tmp_path: Path, mock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_encoder(str(tiny_encoder))
    for problem, fact in (
        (ConnectionError("no route"), "MockSTSTask is not on this machine"),
        (KeyError("no split\nof it"), r"MockSTS.*KeyError: 'no split"),
    ):
        monkeypatch.setattr(mock, "load_data", Mock(side_effect=problem))
        with pytest.raises(HedgerowError, match=fact):
            general.run_tasks(model, [mock], name="a", revision="b", folder=tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_averages_are_of_kinds() -> None:
    scores = [
        general.TaskScore("a", "STS", 80.0),
        general.TaskScore("b", "STS", 60.0),
        general.TaskScore("c", "Re", 20.0),
    ]
    assert general.by_kind(scores) == {"Re": 20.0, "STS": 70.0}
    assert general.average(scores) == 45.0 and general.average([]) is None


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ('"{{choices}}"', "!function code.choices", "'!function'"),
        ("test_split: test", "class: !function code.Task", "without code"),
        ("test_split: test", "include: ../../other.yaml", "'include'"),
        ("test_split: test", "unsafe_code: true", "'unsafe_code'"),
        ("test_split: test", "process_docs: code.docs", "'process_docs'"),
        ("metric: acc", "metric: accuracy", "acc, acc_norm.*'accuracy'"),
        ("metric: acc", "metric: acc\n    hf_evaluate: true", "acc, acc_norm"),
        ("dataset_path: json", "dataset_path: pandas", "json, csv, parquet, text"),
        ("dataset_path: json", "dataset_path: /etc", "dataset_path json"),
        (
            "  data_files:",
            "  trust_remote_code: true\n  data_files:",
            "data_files and revision",
        ),
        ("multiple_choice", "loglikelihood_rolling", "multiple_choice"),
        ("task: opposites", "task: [", "'opposites.yaml'"),
    ],
)
def test_tasks_with_code_or_unknown_keys_are_refused(
    old: str, new: str, fact: str, tmp_path: Path
) -> None:
    assert old in CHOICES
    folder = save_own_tasks(tmp_path, opposites=CHOICES.replace(old, new))
    with pytest.raises(HedgerowError, match=fact):
        own_task(folder, "opposites")


def test_a_task_is_found_by_its_name_and_its_data_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_own_tasks(tmp_path)
    assert own_names(folder) == ["opposites", "sums"]
    task = own_task(folder, "opposites")
    assert task["dataset_kwargs"] == {"data_files": {"test": str(folder / "opposites.jsonl")}}
    assert own_task(folder, "sums")["metric_list"][0]["metric"] == "exact_match"
    with pytest.raises(HedgerowError, match="'none' .* opposites, sums"):
        own_task(folder, "none")
    with pytest.raises(HedgerowError, match="a folder"):
        own_task(tmp_path / "none", "sums")
    with pytest.raises(HedgerowError, match="mmlu, hellaswag, gsm8k.*'arc'"):
        require_known(["mmlu", "arc"])
    monkeypatch.setattr("db.extras.find_spec", lambda name: None)
    with pytest.raises(HedgerowError, match=r"hedgerow\[llm\]"):
        load_task("mmlu")
