"""One benchmark with several models, their shared errors, and results by training objective."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.encoders.model_folders import TRAINED_ENCODER
from tests.cli.support.commands import ask, complaint, ended, show
from tests.training.benchmarks.support.samples import semantoneg_rows, write_lines


@pytest.fixture(autouse=True)
def project(opened_home: Path) -> None:
    """An empty project."""


@pytest.fixture
def sample(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "sample.jsonl", semantoneg_rows()))


def broken(tmp_path: Path) -> str:
    """A folder with the configuration of a model, but unreadable weights."""
    folder = tmp_path / "broken"
    folder.mkdir()
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"no weights")
    return str(folder)


def test_several_models_are_measured_and_those_that_cannot_be_are_skipped(
    tiny_encoder: Path, sample: str, tmp_path: Path
) -> None:
    unreadable, missing = broken(tmp_path), str(tmp_path / "missing")
    listed = tmp_path / "models.txt"
    listed.write_text(f"# ours\n{TRAINED_ENCODER}\n\n{missing}\n{unreadable}\n{tiny_encoder}\n")
    arguments = ["benchmark", "semantoneg", "--data", sample, "--models", str(listed)]
    answer = ask(*arguments, "--model", str(tiny_encoder))
    measured = [str(tiny_encoder), TRAINED_ENCODER]
    assert [result["model"] for result in answer["results"]] == measured
    assert {result["data_hash"] for result in answer["results"]} == {
        answer["results"][0]["data_hash"]
    }
    assert [one["model"] for one in answer["skipped"]] == [missing, unreadable]
    assert all(one["model"] in one["problem"] for one in answer["skipped"])
    assert answer["state"] == "failed", "'hedgerow run' measures what is missing"
    assert [row["model"] for row in ask("benchmarks")["results"]] == measured[::-1]
    shown = show(*arguments)
    assert "Skipped: " in shown and missing in shown and TRAINED_ENCODER in shown


def test_shared_errors_of_several_models(tiny_encoder: Path, sample: str) -> None:
    nothing = complaint("benchmarks", "errors", "semantoneg")
    assert "at least two models on the same items, found none" in nothing
    models = [word for name in (str(tiny_encoder), TRAINED_ENCODER) for word in ("--model", name)]
    scores = ask("benchmark", "semantoneg", "--data", sample, *models)["results"]
    ask("benchmark", "semantoneg", "--data", sample, "--architecture", "random")
    wrong = [round(score["n"] * (1 - score["score"] / 100)) for score in scores]
    every = ask("benchmarks", "errors", "semantoneg", *models, "--at-least", "1")
    assert every["models"] == [TRAINED_ENCODER, str(tiny_encoder)] and every["items"] == 6
    assert sum(len(error["wrong"]) for error in every["errors"]) == sum(wrong)
    found = ask("benchmarks", "errors", "semantoneg", *models)
    assert found["at_least"] == 2 and len(found["errors"]) == found["by_count"][2] <= min(wrong)
    assert sum(found["by_count"]) == 6
    other = Path(sample).with_name("other.jsonl")
    other.write_text("".join(Path(sample).read_text().splitlines(keepends=True)[:2]))
    ask("benchmark", "semantoneg", "--data", str(other), "--architecture", "tf-idf")
    shown = show("benchmarks", "errors", "semantoneg", "--at-least", "1")
    assert "items of SemAntoNeg (sample.jsonl) are wrong in at least 1 of 3 models" in shown
    assert "cold / hot" in shown
    assert "from 1 to 2, found 3" in complaint(
        "benchmarks", "errors", "semantoneg", *models, "--at-least", "3"
    )


def test_semantoneg_by_training_objective(sample: str) -> None:
    ask("benchmark", "semantoneg", "--data", sample, "--architecture", "tf-idf")
    answer = ask("benchmarks", "objectives")
    assert {group["objective"]: group["models"] for group in answer["groups"]} == {
        "general purpose": 11,
        "paraphrase": 18,
        "NLI": 27,
        "STSB": 16,
    }
    assert len(answer["models"]) == 115
    (own,) = [model for model in answer["models"] if model["source"] == "measured"]
    assert (own["model"], own["objective"]) == ("TF-IDF", "other")
    shown = show("benchmarks", "objectives")
    assert "TF-IDF" in shown and "42 of them have another objective" in shown


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("\n# nothing\n", "Expected one model per line in"),
        ("one\ntwo\n", "Expected models that can be measured, found none of 2. First: one: "),
    ],
)
def test_a_list_with_nothing_to_measure(
    content: str, sentence: str, sample: str, tmp_path: Path
) -> None:
    listed = tmp_path / "models.txt"
    listed.write_text(content.replace("one", str(tmp_path / "one")).replace("two", "./two"))
    expected = sentence.replace("one: ", str(tmp_path / "one"))
    arguments = ["benchmark", "semantoneg", "--data", sample, "--models", str(listed)]
    assert expected in complaint(*arguments)
    assert ask("runs", "list") == {"runs": []}
    code, answer = ended(*arguments)
    assert code == 1 and expected in answer["error"]
