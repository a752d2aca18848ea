"""Calibration on the command line: a sample, the models' opinions, the figures, the rule."""

from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col
from typer.testing import CliRunner

import cli
from curation.project.opening import open_project
from curation.review import actions
from curation.review.actions import shown
from curation.review.calibration import figures
from db.engine import writing
from db.models import Source, Variant
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.support.factories import add_family, person
from tests.support.generating import Serve

NAME = "judge: fake, prompt 1"
ACCEPT = "Verdict: accept\nReason: none\nComment: Yes.\nSuggestion: none\nCertainty: 0.75"


@pytest.fixture(autouse=True)
def families(home: Path) -> None:
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        for number in range(10):
            add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")


def decide_blind(uids: list[str], rejected: int = 0) -> None:
    """Ada decides on these in the app's blind mode."""
    with writing(open_project(load_settings())) as session:
        ada = person(session)
        for number, uid in enumerate(uids):
            variant = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar_one()
            card = shown(variant, blind=True)
            if number < rejected:
                actions.reject(session, card, reviewer_id=ada, reason="wrong_scope")
            else:
                actions.accept(session, card, reviewer_id=ada)


def test_from_the_sample_to_the_rule_and_back(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FEWEST", 8)
    sampled = ask("review", "calibration", "draw", "--size", "8", "--types", "verbal, word")
    sample, uids = str(sampled["sample"]), sampled["variants"]
    assert len(uids) == 16
    assert "No model has judged it yet." in show("review", "calibration", "show")
    address, server = serve_chat()
    server.says = lambda prompt: ACCEPT
    judge = ["review", "judge", "--model", "fake", "--base-url", address]
    assert ask(*judge, "--sample", sample)["done"] == 16
    decide_blind(uids, rejected=8)
    again = show(*judge, "--sample", sample, "--times", "2")
    assert "has judged variants 32 times (these answers do not count as opinions)" in again
    asked = ["review", "calibration", "apply", "--judge", NAME, "--reviewer", "Ada"]
    assert "No type qualifies for" in complaint(*asked)
    found = ask("review", "calibration", "show", sample, "--precision", "0.6")
    (one,) = found["judges"]
    rows = {row["type"]: row for row in one["types"]}
    assert (one["name"], one["judged"], one["recommended"]) == (NAME, 16, ["word"])
    assert rows["verbal"]["verdicts"] == [{"judge": "accept", "people": "reject", "items": 8}]
    assert rows["word"]["precision"]["value"] == 1.0 and rows["all"]["base_rate"] == 0.5
    assert one["calibration_error"] == pytest.approx(0.25)
    assert one["self_consistency"]["same"] == 1.0 and one["self_consistency"]["answers"] == 32
    output = show("review", "calibration", "show", "--precision", "0.6")
    assert f"{NAME}: accept without human review: word." in output
    assert ask(*judge, "--types", "word")["done"] == 2  # those outside the sample
    sure = [*asked, "--precision", "0.6"]
    planned = ask(*sure, "--dry-run")
    assert (planned["variants"], planned["types"], planned["action"]) == (2, ["word"], None)
    done = ask(*sure)
    assert done["by_type"] == {"word": 2} and done["action"]
    assert done["rule"] == f"accepted by {NAME}"
    assert ask("status")["variants"]["word"]["pending"] == 0
    ask("review", "undo", "--reviewer", "Ada")
    assert ask("status")["variants"]["word"]["pending"] == 2


def test_options_that_exclude_each_other_give_one_sentence() -> None:
    asked = ["review", "judge", "--model", "fake"]
    for wrong, sentence in (
        (["--times", "3"], "--times requires --sample"),
        (["--sample", "1", "--types", "verbal"], "cannot be combined with --types"),
    ):
        done = CliRunner().invoke(cli.app, [*asked, *wrong])
        assert done.exit_code == 2 and sentence in done.stderr
    assert "There is no run 7" in complaint(*asked, "--sample", "7")
    assert "no sample yet" in complaint("review", "calibration", "show")
    assert "variant type" in complaint("review", "calibration", "draw", "--types", "verb")
    assert "Expected the name of a judge" in complaint(
        "review", "calibration", "draw", "--judge", "[bold]x"
    )
    number = str(ask("review", "calibration", "draw", "--size", "1")["sample"])
    assert f"name of a judge of sample {number}" in complaint(
        "review", "calibration", "apply", "--judge", "x", "--reviewer", "Ada"
    )
