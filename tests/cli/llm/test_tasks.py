"""General ability of language models on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow
from tests.cli.support.commands import ask, complaint, process, show
from tests.support.harness_tasks import save_own_tasks


@pytest.fixture(autouse=True)
def project(opened_home: Path) -> None:
    """An empty project."""


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    return str(save_own_tasks(tmp_path / "tasks"))


@pytest.mark.slow
def test_a_user_defined_task(small_llama: Path, tasks: str) -> None:
    model = ("--model", str(small_llama))
    ended = process("benchmark", "lm_eval:opposites", *model, "--data", tasks, "--json")
    answer = json.loads(ended.stdout)
    assert ended.stderr == "", "the harness says nothing of its own"
    assert answer["benchmark"] == "lm_eval:opposites" and answer["metric"] == "accuracy"
    assert (answer["n"], answer["architecture"]) == (4, "causal-lm")
    assert answer["figures"] == {"acc": answer["score"]}
    low, high = answer["interval"]
    assert 0 <= low <= answer["score"] <= high <= 100
    plan = ask("benchmark", "lm_eval:sums", *model, "--data", tasks, "--dry-run")
    assert plan["tasks"] == ["sums"]
    score = hedgerow.open().benchmark(small_llama, "lm_eval:sums", data=tasks)
    assert (score.benchmark, score.n, score.score) == ("lm_eval:sums", 3, 0.0)
    assert score.items()["right answer"].tolist() == ["1", "2", "3"]

    table = ask("benchmarks", "--table")
    assert table["columns"] == ["opposites", "sums"]
    (line,) = table["lines"]
    assert line["kind"] == "causal-lm" and line["seconds_per_item"] > 0
    assert (line["published"], line["cost_per_item"]) == (False, None)
    assert line["scores"] == {"opposites": answer["score"], "sums": 0.0}
    head, row = show("benchmarks", "--table").splitlines()[:2]
    assert head.split()[:2] == ["model", "Kind"] and "causal-lm" in row


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mmlu", "hellaswag", "gsm8k", "table3"])
def test_without_a_network(small_llama: Path, name: str) -> None:
    output = complaint("benchmark", f"lm_eval:{name}", "--model", str(small_llama))
    assert "is not on this machine, and the model hub cannot be reached; connect to" in output


def test_names_and_data_that_do_not_fit(small_llama: Path, tasks: str) -> None:
    model = ("--model", str(small_llama))
    output = complaint("benchmark", "lm_eval:arc", *model)
    assert "Expected a task of lm_eval (mmlu, hellaswag, gsm8k) or the suite table3" in output
    assert "uses its own" in complaint("benchmark", "lm_eval:mmlu", *model, "--data", tasks)
    output = complaint("benchmark", "lm_eval:none", *model, "--data", tasks)
    assert "found opposites, sums" in output
    output = complaint("benchmark", "lm_eval:mmlu", "--architecture", "tf-idf")
    assert "Expected a language model (causal-lm)" in output


def test_the_harness_is_not_installed(small_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.benchmarks.harness.names.find_spec", lambda name: None)
    output = complaint("benchmark", "lm_eval:mmlu", "--model", str(small_llama))
    assert "run: pip install 'hedgerow[lm-eval]'" in output


def test_published_lines_come_after_measured_ones(tmp_path: Path) -> None:
    rows = [{"q1": "a b", "q2": "c d", "doc1": "a b e", "doc2": "c d e"}]
    data = tmp_path / "nevir.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ask("benchmark", "nevir", "--architecture", "tf-idf", "--data", str(data))
    lines = ask("benchmarks", "--table")["lines"]
    assert [line["published"] for line in lines] == [False] + [True] * (len(lines) - 1)
    hedge = next(line for line in lines if line["model"] == "Llama-3-8B-Hedge")
    assert (hedge["kind"], hedge["scores"]) == ("causal-lm", {"NevIR": 78.13})
    assert "Llama-3-8B-Hedge (HedgeTriple, Table 3: language models)" in show(
        "benchmarks", "--table"
    ).replace("\n", " ")
