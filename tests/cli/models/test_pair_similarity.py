"""Similarities on the command line: the paper's Figure 1, the bundled groups, stored sets."""

from pathlib import Path

import pytest

from curation.project.opening import open_project
from db.engine import writing
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint
from training.evaluation.probe_files import Pasted
from training.evaluation.probe_sets import create_set

MINILM = "all-MiniLM-L6-v2"


def test_a_set_of_groups_is_ranked_and_needs_no_project(home: Path) -> None:
    answer = ask("similarity", "--model", MINILM, "--probe-set", "Figure 1 of the paper")
    assert {row["series"] for row in answer["similarities"]} >= {"after", "paper: HedgeMPNet"}
    scores = answer["scores"]["after"]
    assert (scores["groups"], scores["ranked"], scores["below_affirmed"]) == (1, 0.0, 1.0)
    assert scores["means"]["weakened"] == pytest.approx(0.755, abs=0.001)


@pytest.mark.slow
def test_every_two_sentences_of_a_stored_set_are_compared() -> None:
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        sentences = Pasted([], ["It rains.", "It pours.", "The door is shut."])
        create_set(session, name="Weather", content=sentences, author_id=None)
    answer = ask("similarity", "--model", MINILM, "--before", MINILM, "--set", "Weather")
    assert len(answer["similarities"]) == 6
    assert "scores" not in answer
    assert "no probe set 'weather'" in complaint(
        "similarity", "--model", "x", "--probe-set", "weather"
    )


def test_a_file_and_a_set_at_once_are_refused(tmp_path: Path) -> None:
    both = ("--probes", str(tmp_path / "p.csv"), "--probe-set", "Sixty groups")
    assert "remove one" in complaint("similarity", "--model", MINILM, *both)


def test_a_model_in_a_relative_folder_is_printed_with_its_full_path(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_encoder.parent)
    answer = ask("similarity", "--model", tiny_encoder.name, "--before", MINILM)
    assert (answer["model"], answer["before"]) == (str(tiny_encoder), MINILM)
