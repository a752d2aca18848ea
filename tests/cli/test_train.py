"""Training runs on the command line."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session
from typer.testing import CliRunner

import cli
from curation.encoders.checkpoint_files import ADAPTER_WEIGHTS
from curation.encoders.loading import load_encoder
from curation.encoders.model_folders import DEFAULT_ENCODER, TRAINED_ENCODER
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.execution import RunContext
from db.models import RunMetric, RunState, Split
from db.run_process import start_process
from db.settings import HUB_TOKEN, load_settings
from tests.cli.commands import ask, complaint, show
from tests.curation.support.families import add_plain_family
from tests.support.databases import Fill, stored_run
from tests.support.factories import freeze
from tests.support.publishing import add_model
from tests.support.publishing import hub as hub
from tests.support.servers.hub_server import OWNER, TOKEN, HubServer
from tests.test_keys import files_with
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tokenizer as tokenizer
from tests.training.conftest import tiny_encoder as tiny_encoder
from tests.training.ranking.support.finetunings import ENTRIES, lines
from tests.training.support.trainings import perform
from training.benchmarks.sources import keep_data
from training.encoder_run import training_run
from training.hub.push_run import PUSH, Push
from training.recipe import presets
from training.recipe.presets import PRESETS
from training.recipe.schema import Recipe
from training.studies import members

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
    assert "Expected a preset or a recipe, found both; remove one of them." in both
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
        ("retention_file=texts.txt", b" \n\n", "blank lines"),
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


@pytest.fixture
def fake_training(monkeypatch: pytest.MonkeyPatch) -> None:
    ask("init", "--empty")
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        freeze(session)
    engine.dispose()

    def work(context: RunContext) -> dict[str, Any]:
        figures = {"before": {"ranked": 0.5}, "after": {"ranked": 0.75}, "of": {"ranked": 4}}
        return {"triples": 12, "steps": 2, "held_out": figures}

    monkeypatch.setattr(training_run, "work", work)
    # There is none to free, and the search takes seconds in the tests' large process.
    monkeypatch.setattr(members, "free_memory", lambda: None)


@pytest.mark.usefixtures("fake_training")
def test_a_study_reports_the_result_of_each_training() -> None:
    found = ask("study", "types", "--set", "batch_size=2", "--seed", "5")
    assert (found["study"], found["release"], found["seed"]) == ("types", 1, 5)
    labels = [member["label"] for member in found["members"]]
    assert labels == ["All types", "Without Verbal negation", "Without Lexical negation"]
    assert {member["state"] for member in found["members"]} == {"done"}
    assert found["members"][0]["held_out"]["after"] == {"ranked": 0.75}
    assert "0.750" in show("study", "types", "--set", "batch_size=2")


@pytest.mark.usefixtures("fake_training")
def test_the_help_says_what_each_study_answers() -> None:
    help_ = " ".join(show("study", "--help").split())
    assert "by a language model? Compares equal numbers of each" in help_


@pytest.mark.usefixtures("fake_training")
def test_an_impossible_study_gives_one_sentence() -> None:
    assert "none written by rules" in complaint("study", "writers")
    assert "no release 7" in complaint("study", "data", "--release", "7")
    assert "no key 'epoch'" in complaint("study", "data", "--set", "epoch=1")


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """The built-in encoder with two changed weights, like after training."""
    import torch

    model = load_encoder(DEFAULT_ENCODER, device="cpu")
    layer = model[0].model.encoder.layer[0].output
    with torch.no_grad():
        layer.dense.weight[0, 0] += 3.0
        layer.dense.bias[0] += 4.0
    model.save_pretrained(str(tmp_path / "trained"), create_model_card=False)
    return tmp_path / "trained"


@pytest.mark.slow
def test_an_adapter_of_a_folder_needs_no_project_and_is_a_model(trained: Path, home: Path) -> None:
    answer = ask("adapter", "out", "--model", str(trained))
    assert answer["folder"] == str(home / "out")
    assert answer["size"] == (home / "out" / ADAPTER_WEIGHTS).stat().st_size <= 5_000_000
    assert answer["layers"] == 1
    assert answer["share"] == pytest.approx(9 / 25, abs=1e-3)
    assert answer["share_of_layers"] == pytest.approx(1, abs=1e-3)
    measured = ask("similarity", "--model", "out", "--before", str(trained))
    assert measured["model"] == str(home / "out")
    output = show("adapter", "second", "--model", str(trained), "--rank", "1")
    assert "At rank 1 it contains 36.0% of the change of all weights" in output
    assert "already exists" in complaint("adapter", "out", "--model", str(trained))


def test_wrong_usage_is_explained_in_a_sentence(opened_home: Path) -> None:
    assert "There is no run 5" in complaint("adapter", "out", "--model", "5")
    assert "no model folder './nowhere'" in complaint("adapter", "out", "--model", "./nowhere")
    assert "run's number or a model folder" in complaint("adapter", "out", "--model", "ada/encoder")


def test_the_bundled_encoder_is_measured_by_its_name(home: Path) -> None:
    (home / TRAINED_ENCODER).mkdir()  # it does not mean a folder with this name
    answer = ask("similarity", "--model", TRAINED_ENCODER, "--before", DEFAULT_ENCODER)
    assert (answer["model"], answer["before"]) == (TRAINED_ENCODER, DEFAULT_ENCODER)
    contradicted, weakened, affirmed = (
        {row["series"]: row["cosine"] for row in answer["similarities"] if row["label"] == label}
        for label in ("contradicted", "weakened", "affirmed")
    )
    fall, *others = (pair["before"] - pair["after"] for pair in (contradicted, weakened, affirmed))
    assert fall > 0.1 and fall > 2 * max(others)


REPO = f"{OWNER}/encoder"
SECONDS = 90


@pytest.fixture
def engine(home: Path, tiny_encoder: Path) -> Engine:
    engine = open_project(load_settings())
    assert add_model(engine, tiny_encoder) == 1
    return engine


@pytest.mark.slow
def test_a_model_and_a_release_are_pushed(engine: Engine, hub: HubServer) -> None:
    result = ask("push", "1", "--repo", REPO)
    assert (result["repo"], result["private"]) == (REPO, True)
    assert result["commit"] == hub.repos["model", REPO].head
    output = show("push", "--release", "1", "--repo", f"{OWNER}/data", "--public")
    assert f"/datasets/{OWNER}/data (public), commit " in output
    assert "README.md" in hub.repos["dataset", f"{OWNER}/data"].files


def test_wrong_usage_gives_one_sentence(engine: Engine) -> None:
    assert "found neither; give one" in complaint("push", "--repo", REPO)
    assert "found both" in complaint("push", "1", "--release", "1", "--repo", REPO)
    assert "owner/name" in complaint("push", "1", "--repo", "encoder")
    assert "There is no run 5" in complaint("push", "5", "--repo", REPO)


def test_a_typed_token_reaches_the_process_and_is_stored_nowhere(
    engine: Engine, home: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(HUB_TOKEN)
    run = perform(engine, PUSH, Push(run=1, repo=REPO), HF_TOKEN=TOKEN)
    start_process(load_settings(), run, {HUB_TOKEN: TOKEN})
    for _ in range(10 * SECONDS):
        now = stored_run(engine, run.id)
        if now.state not in (RunState.QUEUED, RunState.RUNNING):
            break
        time.sleep(0.1)
    assert now.state == RunState.DONE, now.message
    assert hub.repos["model", REPO].head == now.result["commit"]
    assert (home / "hedgerow_data" / now.folder / "log.txt").is_file()
    assert files_with(home, TOKEN) == []


@pytest.fixture
def pairs(home: Path) -> Path:
    """A file of pairs in a project."""
    open_project(load_settings()).dispose()
    path = home / "pairs.jsonl"
    path.write_bytes(lines(ENTRIES))
    return path


def test_a_finetuning_prints_each_epoch_and_can_be_shown_again(
    pairs: Path, tiny_encoder: Path, home: Path
) -> None:
    trained = ask(
        "nevir", "train", "--data", str(pairs), "--base", str(tiny_encoder), "--epochs", "2"
    )
    assert (trained["state"], trained["architecture"]) == ("done", "bi-encoder")
    assert [epoch["epoch"] for epoch in trained["epochs"]] == [0, 1, 2]
    assert Path(trained["model"]).is_dir()
    shown = ask("nevir", "show", "1", "--csv", "figures.csv")
    assert shown["epochs"] == trained["epochs"] and shown["model"] == trained["model"]
    with (home / "figures.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    value = float(rows[2]["NevIR pairwise accuracy"])
    assert value == pytest.approx(trained["after"]["nevir"], abs=1e-4)
    assert shown["pairs"] == {"trained_on": 16, "held_out": 4}
    epoch = shown["epochs"][2]
    assert epoch["nevir:low"] <= epoch["nevir"] <= epoch["nevir:high"]
    assert epoch["nevir:low"] < epoch["nevir:high"], "four pairs leave some doubt"
    pairs_line, *table = show("nevir", "show", "1").splitlines()
    assert pairs_line == "Pairs: 16 training pairs, 4 held out."
    assert table[0].split()[:6] == ["epoch", "NevIR", "pairwise", "accuracy", "95%", "interval"]
    assert [line.split()[0] for line in table[1:4]] == ["0", "1", "2"]


def test_the_file_named_last_is_taken_again(pairs: Path, tiny_cross: Path) -> None:
    base = ("--base", str(tiny_cross), "--epochs", "1")
    ask("nevir", "train", "--data", str(pairs), *base)
    again = ask("nevir", "train", *base, "--seed", "7", "--max-pairs", "4")
    assert again["data"]["name"] == "pairs.jsonl" and again["data"]["trained_on"] == 4
    assert "cross-encoder" in show("runs", "show", "2")


def test_wrong_input_gives_one_sentence(pairs: Path, tiny_encoder: Path, home: Path) -> None:
    train = ("nevir", "train", "--base", str(tiny_encoder))
    data = ("--data", str(pairs))
    assert complaint(*train, *data, "--epochs", "0").startswith("--epochs is not usable: ")
    assert "expected one of bi-encoder, cross" in complaint(
        *train, *data, "--architecture", "sparse"
    )
    assert "Could not read" in complaint(*train, "--data", "nowhere.jsonl")
    assert ", and the model hub cannot be reached" in complaint(*train)
    other = home / "dev.jsonl"
    other.write_bytes(lines(ENTRIES[:3]))
    message = complaint(*train, *data, "--validation", str(other))
    assert (
        "shares 3 passages with 'dev.jsonl', the evaluation file; choose another file." in message
    )
    keep_data(load_settings().data_folder, "nevir", {"test.jsonl": lines(ENTRIES[5:6])})
    assert "leave these pairs out (--leave-out-tested in a terminal)" in complaint(*train, *data)
    rest = ask(*train, *data, "--epochs", "1", "--leave-out-tested")["data"]
    assert (rest["name"], rest["pairs"]) == ("pairs-untested.jsonl", 19)
    assert "There is no run 9" in complaint("nevir", "show", "9")


def test_only_a_finetuning_is_shown(pairs: Path, tiny_encoder: Path) -> None:
    from db.engine import writing
    from db.runs import create_run

    with writing(open_project(load_settings())) as session:
        create_run(session, kind="export", parameters={})
    assert "but run 1 is not one" in complaint("nevir", "show", "1")
