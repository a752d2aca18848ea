"""Question pairs on the command line."""

import json
from pathlib import Path

import pytest

from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.curation.support.families import add_family, add_plain_family


@pytest.fixture
def released(opened_home: Path) -> None:
    """Three families for training, and one for validation."""
    with writing(open_project(load_settings())) as session:
        for number in range(3):
            add_plain_family(session, number, split=Split.TRAIN)
        add_plain_family(session, 10, split=Split.VALIDATION)
        create_release(session)


@pytest.mark.parametrize("form", ["messages", "completion", "openai"])
def test_a_release_is_written_as_question_pairs(released: None, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "pairs"
    answer = ask("llm", "pairs", str(folder), "--format", form)
    assert answer["pairs"] == {"train": 12, "validation": 4} and answer["format"] == form
    assert answer["notes"][0] == "16 question pairs, half of them with the answer Yes."
    where = folder if form == "openai" else folder / form
    assert len((where / "train.jsonl").read_text(encoding="utf-8").splitlines()) == 12
    output = show("llm", "pairs", str(folder), "--format", form)
    assert "question pairs of release 1" in output and ("tokens" in output) == (form == "openai")


def test_hedgerow_export_writes_the_same(released: None, tmp_path: Path) -> None:
    ask("llm", "pairs", str(tmp_path / "a"))
    ask("export", str(tmp_path / "b"), "--format", "messages")
    train = [(tmp_path / name / "messages/train.jsonl").read_bytes() for name in "ab"]
    assert train[0] == train[1]


def test_an_arm_that_the_release_cannot_fill_is_one_sentence(
    released: None, tmp_path: Path
) -> None:
    output = complaint("llm", "pairs", str(tmp_path / "pairs"), "--arm", "hedging")
    assert "an original contradiction" in output and "release 1" in output
    assert not (tmp_path / "pairs").exists()


def test_a_release_without_hedges_is_one_sentence(opened_home: Path, tmp_path: Path) -> None:
    with writing(open_project(load_settings())) as session:
        add_family(session, "It is late.", {"verbal": ["It is not late."]})
        create_release(session)
    assert "no anchor of release 1 has both" in complaint("llm", "pairs", str(tmp_path / "x"))


def test_texts_with_braces_and_line_breaks_stay_one_line_each(
    opened_home: Path, tmp_path: Path
) -> None:
    with writing(open_project(load_settings())) as session:
        texts = {"verbal": ["{answer} is not\nlate."], "word": ['It is "maybe" late.']}
        add_family(session, "{0} is late.", texts, split=Split.TRAIN)
        create_release(session)
    ask("llm", "pairs", str(tmp_path / "x"))
    lines = (tmp_path / "x/messages/train.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["messages"][0]["content"] for line in lines]
    assert len(asked) == 2 and all("{0} is late." in question for question in asked)
