"""Studies on the command line. A stand-in replaces the training runs and takes no time."""

from __future__ import annotations

from typing import Any

import pytest

from curation.project.opening import open_project
from curation.release.freezing import create_release
from db.engine import writing
from db.execution import RunContext
from db.models import Split
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.curation.support.families import add_plain_family
from training.runs import trainings
from training.studies import members


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    ask("init", "--empty")
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(6):
            add_plain_family(session, number, split=Split.TRAIN)
        create_release(session)
    engine.dispose()

    def work(context: RunContext) -> dict[str, Any]:
        figures = {"before": {"ranked": 0.5}, "after": {"ranked": 0.75}, "of": {"ranked": 4}}
        return {"triples": 12, "steps": 2, "held_out": figures}

    monkeypatch.setattr(trainings, "work", work)
    # There is none to free, and the search takes seconds in the tests' large process.
    monkeypatch.setattr(members, "free_memory", lambda: None)


def test_a_study_reports_the_result_of_each_training() -> None:
    found = ask("study", "types", "--set", "batch_size=2", "--seed", "5")
    assert (found["study"], found["release"], found["seed"]) == ("types", 1, 5)
    labels = [member["label"] for member in found["members"]]
    assert labels == ["All types", "Without Verbal negation", "Without Lexical negation"]
    assert {member["state"] for member in found["members"]} == {"done"}
    assert found["members"][0]["held_out"]["after"] == {"ranked": 0.75}
    assert "0.750" in show("study", "types", "--set", "batch_size=2")


def test_the_help_says_what_each_study_answers() -> None:
    help_ = " ".join(show("study", "--help").split())
    assert "by a language model? Compares equal numbers of each" in help_


def test_an_impossible_study_gives_one_sentence() -> None:
    assert "none written by rules" in complaint("study", "writers")
    assert "no release 7" in complaint("study", "data", "--release", "7")
    assert "no key 'epoch'" in complaint("study", "data", "--set", "epoch=1")
