"""Small Llamas measured with tasks of the harness: the score is the harness's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from db.errors import HedgerowError, RunCancelled
from tests.support.harness_tasks import OPPOSITES, save_own_tasks, small_data_set
from training.benchmarks.harness.measuring import PART, measure
from training.benchmarks.harness.names import KNOWN
from training.benchmarks.harness.tasks import LoadedTask, load_task

pytestmark = pytest.mark.slow  # loading the harness and transformers takes seconds


def nothing(done: int, total: int) -> None:
    """Ignores the progress."""


@pytest.fixture(scope="module")
def llama(small_llama: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(small_llama)
    return AutoModelForCausalLM.from_pretrained(small_llama), tokenizer


@pytest.fixture
def on_small_data(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], LoadedTask]:
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", small_data_set)
    return load_task


def test_a_user_defined_task(llama: tuple[Any, Any], tmp_path: Path) -> None:
    task = load_task("opposites", save_own_tasks(tmp_path))
    reports: list[tuple[int, int]] = []
    result = measure(*llama, task, on_progress=lambda *progress: reports.append(progress))
    assert (result.benchmark, result.metric, result.n) == ("lm_eval:opposites", "accuracy", 4)
    assert reports[-1] == (8, 8), "a request for each choice"
    likelier = [row.scores[0] > row.scores[1] for row in result.rows]
    assert [row.right for row in result.rows] == likelier
    assert result.score == pytest.approx(result.figures["acc"]) == 25 * sum(likelier)
    for row, item in zip(result.rows, OPPOSITES, strict=True):
        assert row.texts["question"] == f"{item['question']}\nAnswer:"
        assert row.texts["right answer"] == item["choices"][0]
        assert (row.texts["answer"] == item["choices"][0]) == row.right
    again = load_task("opposites", tmp_path)
    assert again.data_hash == result.data_hash
    (tmp_path / "opposites.jsonl").write_text(
        '{"question": "Up?", "choices": ["down", "red"], "answer": 0}\n', encoding="utf-8"
    )
    assert load_task("opposites", tmp_path).data_hash != result.data_hash, "other items"


def test_an_answer_of_a_model_is_parsed(llama: tuple[Any, Any], tmp_path: Path) -> None:
    result = measure(*llama, load_task("sums", save_own_tasks(tmp_path)), on_progress=nothing)
    assert result.n == 3 and result.metric == "exact match"
    assert result.unanswered == 3, "it writes no number"
    assert result.score == 0 and all(row.texts["answer"] for row in result.rows)


@pytest.mark.parametrize(("name", "items"), [("mmlu", 114), ("hellaswag", 2), ("gsm8k", 2)])
def test_the_tasks_of_table_3(
    name: str,
    items: int,
    llama: tuple[Any, Any],
    on_small_data: Callable[[str], LoadedTask],
    capfd: pytest.CaptureFixture[str],
) -> None:
    task = on_small_data(name)
    assert (task.title, task.items) == (KNOWN[name].title, items)
    sys.modules.pop("lm_eval.tasks.hellaswag.utils", None)  # as in another process
    assert on_small_data(name).data_hash == task.data_hash
    prompts = [request.args[0] for part in task.parts.values() for request in _requests(part)]
    question = {"mmlu": "Answer:", "hellaswag": "museum", "gsm8k": "Question:"}[name]
    shots = {"mmlu": 6, "hellaswag": 1, "gsm8k": 6}[name]
    assert all(prompt.count(question) == shots for prompt in prompts)
    capfd.readouterr()
    result = measure(*llama, task, on_progress=nothing)
    assert capfd.readouterr() == ("", ""), "the harness's bars stay out of the terminal"
    assert result.n == items
    own = {
        "mmlu": lambda: sum(row.right or False for row in result.rows) / items,
        "hellaswag": lambda: result.figures["acc_norm"] / 100,
        "gsm8k": lambda: result.figures["exact_match, strict-match"] / 100,
    }[name]()
    assert result.score == pytest.approx(100 * own)
    if name == "mmlu":
        assert len(result.breakdowns[PART]) == 57
        assert result.figures["mmlu: acc"] == pytest.approx(result.score)
        assert result.figures.keys() >= {"mmlu_stem: acc", "mmlu_humanities: acc"}


def _requests(part: Any) -> list[Any]:
    part.build_all_requests(rank=0, world_size=1)
    return list(part.instances)


def test_it_stops_between_requests(llama: tuple[Any, Any], tmp_path: Path) -> None:
    def cancel(done: int, total: int) -> None:
        if done == 3:
            raise RunCancelled

    task = load_task("opposites", save_own_tasks(tmp_path))
    with pytest.raises(RunCancelled):
        measure(*llama, task, on_progress=cancel)
    result = measure(*llama, task, on_progress=nothing)
    assert result.n == 4, "the task can be measured again"


def test_two_models_with_the_same_task(
    llama: tuple[Any, Any], tmp_path: Path, small_llama: Path
) -> None:
    task = load_task("sums", save_own_tasks(tmp_path))
    first = measure(*llama, task, on_progress=nothing)
    assert measure(*llama, task, on_progress=nothing) == first


def test_a_model_that_a_task_does_not_fit(llama: tuple[Any, Any], tmp_path: Path) -> None:
    long = save_own_tasks(tmp_path)
    text = (long / "sums.yaml").read_text(encoding="utf-8")
    (long / "sums.yaml").write_text(text.replace("max_gen_toks: 4", "max_gen_toks: 4000"))
    with pytest.raises(HedgerowError, match=r"Could not run sums .*maximum sequence length"):
        measure(*llama, load_task("sums", long), on_progress=nothing)
