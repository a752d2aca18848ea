"""Suites of MTEB tasks, with its results in MTEB's format, without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.encoders.loading import load_encoder
from db.errors import HedgerowError
from training.benchmarks.tasks import general
from training.benchmarks.tasks.general import SUITES, TaskScore, average, by_kind

pytestmark = pytest.mark.slow  # loading mteb takes seconds

KINDS = {
    "Classification",
    "PairClassification",
    "Reranking",
    "Clustering",
    "Retrieval",
    "STS",
    "Summarization",
}


def kinds(name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for task in general.tasks(SUITES[name]):
        counts[task.metadata.type] = counts.get(task.metadata.type, 0) + 1
    return counts


def test_the_suites_are_in_the_installed_mteb() -> None:
    assert kinds("lite") == {
        "Retrieval": 3,
        "Reranking": 2,
        "Clustering": 3,
        "Classification": 3,
        "PairClassification": 1,
        "STS": 3,
        "Summarization": 1,
    }
    assert kinds("full").keys() == KINDS and sum(kinds("full").values()) == 56
    assert kinds("nano") == {"Retrieval": 13}
    assert kinds("quick").keys() == KINDS - {"PairClassification"}


def test_the_full_suite_is_mtebs_own_english_one() -> None:
    import mteb

    own = {task.metadata.name for task in mteb.get_benchmark(general.ENGLISH).tasks}
    assert own == set(SUITES["full"]) and set(SUITES["lite"]) < own


def test_only_english_data_are_taken() -> None:
    by_name = {task.metadata.name: task for task in general.tasks(SUITES["full"])}
    assert by_name["STS17"].hf_subsets == ["en-en"]
    assert by_name["MSMARCO"].eval_splits == ["dev"]


def test_names_that_are_none() -> None:
    with pytest.raises(HedgerowError, match="a task of mteb .*, found 'NoSuchTask'"):
        general.tasks(["NoSuchTask"])


@pytest.fixture
def mock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A task of two sentence pairs that mteb provides for tests, which replaces every other
    task."""
    from mteb.mocks.mock_tasks.sts import MockSTSTask

    task = MockSTSTask()
    monkeypatch.setattr(general, "tasks", lambda names: [task for _ in names])
    return task


def test_results_are_kept_as_mteb_keeps_them(
    tiny_encoder: Path, tmp_path: Path, mock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mteb

    reports: list[tuple[int, int, str]] = []
    how: dict[str, Any] = {"name": "mine/tiny", "revision": "f" * 40, "folder": tmp_path}
    model = load_encoder(str(tiny_encoder))
    scores = general.run_tasks(
        model, [mock], **how, on_progress=lambda *progress: reports.append(progress)
    )
    name = mock.metadata.name
    assert [(s.task, s.kind) for s in scores] == [(name, "STS")] and reports == [(0, 1, name)]
    path = tmp_path / "results" / "mine__tiny" / ("f" * 40) / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["mteb_version"] == mteb.__version__
    assert 100 * stored["scores"]["test"][0]["main_score"] == pytest.approx(scores[0].score)

    def never(*args: Any, **more: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(mteb, "evaluate", never)
    (again,) = general.run_tasks(model, [mock], **how)
    assert again.score == pytest.approx(scores[0].score, abs=1e-3), "it is not run again"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            ConnectionError("no route"),
            "MockSTSTask is not on this machine, and the model hub",
        ),
        (KeyError("no split\nof it"), r"Could not run MockSTS.*KeyError: 'no split"),
    ],
)
def test_a_task_whose_data_cannot_be_had(
    tiny_encoder: Path,
    tmp_path: Path,
    mock: Any,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    message: str,
) -> None:
    def fails(*args: Any, **more: Any) -> None:
        raise problem

    monkeypatch.setattr(mock, "load_data", fails)
    model = load_encoder(str(tiny_encoder))
    with pytest.raises(HedgerowError, match=message):
        general.run_tasks(model, [mock], name="a", revision="b", folder=tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_averages_are_of_kinds() -> None:
    scores = [TaskScore("a", "STS", 80.0), TaskScore("b", "STS", 60.0), TaskScore("c", "Re", 20.0)]
    assert by_kind(scores) == {"Re": 20.0, "STS": 70.0}
    assert average(scores) == 45.0 and average([]) is None
