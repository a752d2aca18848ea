"""Warnings of commands about texts that a release shares with benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

import cli
from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import show, stored_run
from tests.curation.support.families import add_plain_family
from tests.support.overlapping import SAID, keep_doors


def _project() -> None:
    settings = load_settings()
    engine = open_project(settings)
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)
    keep_doors(settings.data_folder)


def test_training_warns_before_it_starts(tiny_encoder: Path) -> None:
    _project()
    short = [f"base_encoder={tiny_encoder}", "batch_size=4", "max_steps=2"]
    options = [word for change in short for word in ("--set", change)]
    result = CliRunner().invoke(cli.app, ["train", *options])
    assert result.exit_code == 0, result.output
    assert SAID in result.stderr and SAID in result.stdout
    assert "Overlapping items by field (release / SemAntoNeg (doors.jsonl)): " in result.stdout
    bundled = "No item in the benchmark files shares 5 consecutive words with the bundled"
    assert bundled in result.stdout and bundled not in result.stderr  # nothing to warn of
    again = CliRunner().invoke(cli.app, ["train", *options, "--seed", "2", "--json"])
    (found,) = json.loads(again.stdout)["overlap"]
    assert (found["benchmark"], found["items"], found["overlapping"]) == ("semantoneg", 4, 2)
    assert SAID not in again.stderr
    engine = open_project(load_settings())
    assert stored_run(engine, 2).result["overlap"] == [found]


def test_the_card_of_an_export_names_them(home: Path) -> None:
    _project()
    show("export", str(home / "out"))
    card = (home / "out" / "README.md").read_text("utf-8")
    assert "| SemAntoNeg | doors.jsonl | 4 | 5 | 2 | 50.0% | 2 |" in card
    assert "| SemAntoNeg | doors.jsonl | anchor | " in card
