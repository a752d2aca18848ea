"""Training runs on the command line."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import Session
from typer.testing import CliRunner

import cli
from curation.encoders.loading import load_encoder
from curation.project.opening import open_project
from db.engine import reading
from db.models import RunMetric, RunState, Split
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show, stored_run
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill
from training.recipe import presets
from training.recipe.presets import PRESETS
from training.recipe.schema import Recipe

SHORT = {"batch_size": 4, "max_steps": 3, "learning_rate": 1e-3}


@pytest.fixture
def small(tiny_encoder: Path, fill: Fill) -> list[str]:
    """Options for a training run of a second, in a project with training families."""
    engine = open_project(load_settings())

    def made(session: Session) -> None:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)
        for number in range(9, 12):
            add_plain_family(session, number, split=Split.VALIDATION)

    fill(engine, made)
    engine.dispose()
    changes = {"base_encoder": tiny_encoder, **SHORT}
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def test_a_training_says_what_it_did_and_where_the_model_is(small: list[str], home: Path) -> None:
    output = show("train", *small)
    lines = output.splitlines()
    assert lines[0].startswith(
        "Run 1 is done. Trained on 18 triples of 9 anchors (release 1): 3 steps, "
    )
    model = home / "hedgerow_data" / "runs" / "00001-train" / "model"
    assert lines[-1] == f"The model is in {model}."
    load_encoder(str(model), device="cpu")
    assert lines[1].split() == ["held", "out", "before", "after", "measured", "on"]
    (ranked,) = (line for line in lines if line.startswith("triples ranked correctly"))
    assert ranked.count("%") == 2 and ranked.split()[-1] == "6"
    assert "drift of unrelated sentences" in output and max(map(len, lines[1:-2])) < 80
    assert "STS" not in output
    assert "MRR@10 on 300 bundled questions" in lines[-2]


def test_the_log_and_the_metrics_file_hold_the_losses(small: list[str], home: Path) -> None:
    ask("train", *small)
    folder = home / "hedgerow_data" / "runs" / "00001-train"
    log = (folder / "log.txt").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = {row["step"]: row["value"] for row in rows if row["name"] == "loss"}
    assert list(losses) == [1, 2, 3]
    for step, loss in losses.items():
        assert f"step {step} of 3: loss {loss:.4g}, learning_rate " in log
    assert "step 0, validation: " in log
    assert all(datetime.fromisoformat(row["time"]).tzinfo for row in rows)
    with reading(open_project(load_settings())) as session:
        stored = session.execute(select(RunMetric)).scalars().all()
    assert {(row["step"], row["name"]): row["value"] for row in rows} == {
        (row.step, row.name): row.value for row in stored
    }


def test_its_json_names_the_run_and_the_model(small: list[str], tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("loss: family\nscale: 7\n")
    answer = ask("train", *small, "--recipe", str(recipe), "--seed", "3", "--set", "scale=8")
    assert (answer["run"], answer["release"], answer["steps"]) == (1, 1, 3)
    assert Path(answer["model"]).is_absolute() and (Path(answer["model"]) / "modules.json").exists()
    parameters = stored_run(open_project(load_settings()), 1).parameters
    assert parameters["seed"] == 3
    assert (parameters["recipe"]["loss"], parameters["recipe"]["scale"]) == ("family", 8)


def test_a_queued_training_waits_until_somebody_starts_it(small: list[str]) -> None:
    queued = {"run": 1, "state": "queued", "release": 1, "preset": None}
    assert ask("train", *small, "--queue") == queued
    output = show("train", *small, "--queue", "--seed", "2")
    assert "torchrun --nproc-per-node 2 -m training 2" in output and "hedgerow run 2" in output
    engine = open_project(load_settings())
    assert [stored_run(engine, key).state for key in (1, 2)] == [RunState.QUEUED] * 2
    assert show("run", "1").startswith("Run 1 is done. Trained on 18 triples")
    assert ask("run", "2")["steps"] == 3


def test_the_preset_that_fits_is_taken_unless_another_one_is_named(
    small: list[str],
) -> None:
    found = CliRunner().invoke(cli.app, ["train", "--queue"])
    assert found.stderr == "Preset: quick, because the first release has 9 families.\n"
    assert ask("train", "--queue", "--preset", "standard")["preset"] == "standard"
    found = CliRunner().invoke(cli.app, ["train", "--queue", "--preset", "thorough"])
    assert found.stderr == f"Preset: thorough. {PRESETS['thorough'].purpose}\n"
    engine = open_project(load_settings())
    quick, standard = (stored_run(engine, key).parameters["recipe"] for key in (1, 2))
    assert quick == PRESETS["quick"].recipe.model_dump(mode="json")
    assert standard == PRESETS["standard"].recipe.model_dump(mode="json")


def test_the_result_of_a_training_names_its_preset(
    small: list[str], tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = Recipe(base_encoder=str(tiny_encoder), batch_size=4, max_steps=3)
    preset = PRESETS["quick"]._replace(recipe=tiny)
    monkeypatch.setattr(presets, "PRESETS", {"quick": preset})
    output = show("train")
    assert "Trained with the “quick” preset on 18 triples" in output
    assert ask("runs", "show", "1")["result"]["preset"] == "quick"
    card = Path(output.splitlines()[-1].removeprefix("The model is in ").rstrip(".")) / "README.md"
    assert "| preset | quick |" in card.read_text(encoding="utf-8")


def test_a_preset_and_a_recipe_contradict_each_other(small: list[str], tmp_path: Path) -> None:
    (recipe := tmp_path / "recipe.yaml").write_text("epochs: 1\n")
    both = complaint("train", "--preset", "quick", "--recipe", str(recipe), "--queue")
    assert "Expected --preset or --recipe, found both; remove one of them." in both
    unknown = complaint("train", "--preset", "fast", "--queue")
    assert "Expected a preset (quick, standard, thorough, paper), found 'fast'." in unknown
    assert ask("status")["runs"] == []


def test_a_training_that_is_in_progress_is_not_stored_twice(small: list[str]) -> None:
    ask("train", *small, "--queue")
    assert "Run 1 is already training with the same settings" in complaint(
        "train", *small, "--queue"
    )
    assert [run["run"] for run in ask("runs", "list")["runs"]] == [1]


@pytest.mark.parametrize(
    ("change", "content", "sentence"),
    [
        ("retention_file=texts.txt", None, "Could not read .*texts.txt"),
        ("retention_file=texts.txt", b" \n\n", "sentence per line"),
        ("sts_file=texts.txt", b"no scores here\n", "Expected"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_a_run_is_stored(
    small: list[str], home: Path, change: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (home / "texts.txt").write_bytes(content)
    assert re.search(sentence, complaint("train", *small, "--set", change, "--queue"))
    assert ask("status")["runs"] == []


def test_files_of_a_recipe_are_in_the_current_directory_and_may_not_change(
    small: list[str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, sts = tmp_path / "texts.txt", tmp_path / "sts.tsv"
    texts.write_text("It rains.\nThe sea is calm.\n")
    sts.write_text("0.1\tIt rains.\tIt pours.\n0.9\tA cat.\tThe cat.\n0.5\tYes.\tNo.\n")
    monkeypatch.chdir(tmp_path)
    files = ["--set", "retention_file=texts.txt", "--set", "sts_file=sts.tsv"]
    run = ask("train", *small, *files, "--set", "retention=1", "--queue")["run"]
    monkeypatch.chdir(home)  # the run finds them from anywhere
    inputs = stored_run(open_project(load_settings()), run).inputs
    assert inputs["sts_file"] == hashlib.sha256(sts.read_bytes()).hexdigest()
    content = texts.read_bytes()
    texts.write_text("Something else.\n")
    assert "texts.txt' has changed since" in complaint("run", str(run))
    texts.write_bytes(content)
    assert "STS (Spearman)" in show("run", str(run))
