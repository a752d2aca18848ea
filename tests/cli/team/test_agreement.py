"""Agreement between people on the command line, and the same numbers in Python."""

import csv
from pathlib import Path

import pytest

import hedgerow
from curation.project.opening import open_project
from db.engine import writing
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.support.factories import TEXTS, add_family

HOSTILE = "=1+1 <b>x</b>"


@pytest.fixture
def family() -> dict[str, str]:
    """Type → uid of a project with a variant of every type."""
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        return {type_id: variant.uid for type_id, variant in add_family(session).items()}


def decide(family: dict[str, str]) -> None:
    """Two people agree on two of four variants. A third decides on one alone."""
    for type_id in ("verbal", "word", "lexical", "affixal"):
        ask("review", "accept", family[type_id], "--reviewer", "Ada")
    for type_id in ("verbal", "word"):
        ask("review", "accept", family[type_id], "--reviewer", HOSTILE)
    for type_id in ("lexical", "affixal"):
        ask("review", "reject", family[type_id], "--reviewer", HOSTILE, "--note", "=No")
    ask("review", "accept", family["phrase"], "--reviewer", "Cleo")


def test_without_overlap_it_says_so(family: dict[str, str]) -> None:
    assert "No two people have decided on the same variant yet." in show("review", "agreement")
    found = ask("review", "agreement")
    assert found["judges"] == [] and found["people"]["variants"] == 0
    assert found["people"]["groups"] == [] and found["people"]["agreement"] is None


def test_people_are_compared_by_type_and_by_pair(family: dict[str, str]) -> None:
    decide(family)
    found = ask("review", "agreement")["people"]
    assert (found["variants"], found["verdicts"], found["accepted"]) == (4, 8, 0.75)
    assert found["agreement"] == 0.5 and found["agreement_low"] is None  # too few for an interval
    assert found["kappa"] == 0 and found["left_out"] == 0
    assert "Krippendorff" in found["meaning"][1]
    rows = {row["type"]: row["agreement"] for row in found["groups"]}
    assert rows == {"verbal": 1, "word": 1, "lexical": 0, "affixal": 0}
    (pair,) = ask("review", "agreement", "--by", "pair")["people"]["groups"]
    assert (pair["person"], pair["other"], pair["variants"]) == ("Ada", HOSTILE, 4)
    (cue,) = ask("review", "agreement", "--by", "cue")["people"]["groups"]
    assert cue["cue"] == "probably"
    output = show("review", "agreement", "--by", "source", "--source", "test")
    assert "4 variants with verdicts from several people:" in output and "50.0%  " in output


def test_the_verdicts_are_written_without_formulas(family: dict[str, str], tmp_path: Path) -> None:
    decide(family)
    file = tmp_path / "verdicts.csv"
    ask("review", "agreement", "--csv", str(file))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 8 and {row["reviewer"] for row in rows} == {"Ada", f"'{HOSTILE}"}
    assert {row["note"] for row in rows} == {"", "'=No"}
    assert {row["variant"] for row in rows} == {
        TEXTS[key] for key in ("verbal", "word", "lexical", "affixal")
    }


def test_python_has_the_same_figures(family: dict[str, str]) -> None:
    decide(family)
    project = hedgerow.open()
    found = project.agreement(by="type")
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    assert rows == ask("review", "agreement")["people"]["groups"]
    assert project.agreement()["alpha"].iloc[0] == ask("review", "agreement")["people"]["alpha"]
    assert list(project.agreement(by="pair").columns[:2]) == ["person", "other"]
    assert len(project.shared_verdicts()) == 8
    with pytest.raises(hedgerow.HedgerowError, match="Expected a grouping"):
        project.agreement(by="kind")
    with pytest.raises(hedgerow.HedgerowError, match="Expected a source with variants"):
        project.agreement(source="nowhere")


def test_unknown_names_are_reported(family: dict[str, str]) -> None:
    assert "Expected a source with variants (test), found nowhere." in complaint(
        "review", "agreement", "--source", "nowhere"
    )
