"""The user's own tasks are read as data. Files that would run code are refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from db.errors import HedgerowError
from tests.support.harness_tasks import CHOICES, save_own_tasks
from training.benchmarks.harness.names import require_known
from training.benchmarks.harness.own_tasks import own_names, own_task
from training.benchmarks.harness.tasks import load_task


def test_paths_of_data_start_from_the_folder(tmp_path: Path) -> None:
    folder = save_own_tasks(tmp_path)
    task = own_task(folder, "opposites")
    assert task["dataset_kwargs"] == {"data_files": {"test": str(folder / "opposites.jsonl")}}
    assert own_task(folder, "sums")["metric_list"][0]["metric"] == "exact_match"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"{{choices}}"', "!function code.choices", "a task without code .*'!function'"),
        ("test_split: test", "class: !function code.Task", "a task without code"),
        ("test_split: test", "include: ../../other.yaml", "found 'include'"),
        ("test_split: test", "unsafe_code: true", "found 'unsafe_code'"),
        ("test_split: test", "process_docs: code.docs", "found 'process_docs'"),
        ("metric: acc", "metric: accuracy", "a metric .acc, acc_norm., found 'accuracy'"),
        ("metric: acc", "metric: acc\n    hf_evaluate: true", "a metric .acc"),
        ("dataset_path: json", "dataset_path: pandas", "dataset_path json, csv, parquet, text"),
        ("dataset_path: json", "dataset_path: /etc", "dataset_path json"),
        (
            "  data_files:",
            "  trust_remote_code: true\n  data_files:",
            "only data_files and revision in dataset_kwargs",
        ),
        ("multiple_choice", "loglikelihood_rolling", "output_type multiple_choice or"),
        ("task: opposites", "task: [", "a YAML task in 'opposites.yaml'"),
    ],
)
def test_tasks_with_code_or_unknown_keys_are_refused(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in CHOICES
    folder = save_own_tasks(tmp_path, opposites=CHOICES.replace(old, new))
    with pytest.raises(HedgerowError, match=message):
        own_task(folder, "opposites")


def test_names(tmp_path: Path) -> None:
    folder = save_own_tasks(tmp_path)
    with pytest.raises(HedgerowError, match="the task 'none' .* found opposites, sums"):
        own_task(folder, "none")
    assert own_names(folder) == ["opposites", "sums"]
    with pytest.raises(HedgerowError, match="a folder with lm_eval tasks"):
        own_task(tmp_path / "none", "sums")
    with pytest.raises(HedgerowError, match="mmlu, hellaswag, gsm8k.* found 'arc'"):
        require_known(["mmlu", "arc"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mmlu", "hellaswag", "gsm8k"])
def test_without_a_network(name: str) -> None:
    with pytest.raises(HedgerowError, match="^The data set of .* is not on this machine, and"):
        load_task(name)


@pytest.mark.slow
def test_a_template_runs_nothing(tmp_path: Path) -> None:
    template = "{{ ''.__class__.__mro__ }}"
    folder = save_own_tasks(tmp_path, opposites=CHOICES.replace("{{question}}", template))
    with pytest.raises(HedgerowError, match="Could not load opposites .*SecurityError"):
        load_task("opposites", folder)


@pytest.mark.slow
def test_data_that_are_not_there(tmp_path: Path) -> None:
    folder = save_own_tasks(tmp_path)
    (folder / "sums.jsonl").unlink()
    with pytest.raises(HedgerowError, match=r"Could not load sums .*sums\.jsonl"):
        load_task("sums", folder)


def test_the_harness_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.benchmarks.harness.names.find_spec", lambda name: None)
    with pytest.raises(HedgerowError, match=r"pip install 'hedgerow\[lm-eval\]'"):
        load_task("mmlu")
