"""Finetuning on NevIR's pairs on the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from curation.project.opening import open_project
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.training.benchmarks.conftest import tiny_cross as tiny_cross
from tests.training.benchmarks.conftest import tokenizer as tokenizer
from tests.training.ranking.support.finetunings import ENTRIES, lines
from training.benchmarks.data.sources import keep_data


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
