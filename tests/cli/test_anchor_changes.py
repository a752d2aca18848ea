"""Anchors on the command line: found, corrected, retired, restored; variants and notes for them."""

import sqlite3
from pathlib import Path

import pytest

from tests.cli.commands import ask, complaint, said


@pytest.fixture
def home_of_bo(loaded_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The starter corpus, worked on by Bo."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")
    return loaded_home


def one(home: Path, query: str, *values: object) -> object:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(query, values).fetchone()[0]


def first_anchor() -> str:
    (anchor,) = ask("anchors", "list", "--limit", "1")["anchors"]
    return str(anchor["uid"])


def test_anchors_are_found_by_their_text(home_of_bo: Path) -> None:
    everything = ask("anchors", "list", "--limit", "3")
    assert len(everything["anchors"]) == 3
    assert everything["total"] == one(home_of_bo, "SELECT count(*) FROM anchor")
    anchor = everything["anchors"][1]
    found = ask("anchors", "list", "--search", anchor["text"].upper())
    assert [a["uid"] for a in found["anchors"]] == [anchor["uid"]]
    assert ask("anchors", "list", "--search", "%")["total"] < everything["total"]
    assert ask("anchors", "list", "--retired")["total"] == 0
    shown = said("anchors", "list", "--search", anchor["uid"])
    assert anchor["uid"] in shown and anchor["text"].split()[0] in shown


def test_a_correction_tells_how_many_variants_come_back(home_of_bo: Path) -> None:
    uid = str(
        one(
            home_of_bo,
            "SELECT a.uid FROM anchor a JOIN variant v ON v.anchor_id = a.id"
            " WHERE v.status = 'accepted' GROUP BY a.id HAVING count(*) = 7 LIMIT 1",
        )
    )
    answer = ask("anchors", "correct", uid, "A wording of its own.")
    assert answer == {"anchor": uid, "revision": 2, "second_looks": 7}
    marked = "SELECT count(*) FROM variant WHERE second_look AND status = 'pending'"
    assert one(home_of_bo, marked) == 7
    assert "unchanged" in complaint("anchors", "correct", uid, "A wording of its own.")
    assert ask("anchors", "list", "--search", "of its own")["anchors"][0]["revision"] == 2


def test_retiring_and_restoring_can_be_repeated(home_of_bo: Path) -> None:
    uid = first_anchor()
    for command, retired in (("retire", True), ("restore", False)):
        for changed in (True, False):
            answer = ask("anchors", command, uid)
            assert answer == {"anchor": uid, "retired": retired, "changed": changed}
    assert "There is no anchor" in complaint("anchors", "retire", "nope")


def test_a_variant_of_ones_own_and_a_note_on_it(home_of_bo: Path) -> None:
    words = ("review", "write", "--anchor", first_anchor(), "--type", "word", "--text")
    answer = ask(*words, "It may well be so.", "--cue", "may")
    assert (answer["status"], answer["cue"]) == ("accepted", "may")
    assert "it is accepted" in complaint(*words, "It may well be so.")
    uid = answer["variant"]
    assert ask("review", "note", uid, "Mine.") == {"variant": uid, "notes": 1}
    assert ask("review", "edit", uid, "--cue", "may well")["child"] is None
    assert one(home_of_bo, "SELECT cue FROM variant WHERE uid = ?", uid) == "may well"
    ask("review", "undo")
    assert one(home_of_bo, "SELECT cue FROM variant WHERE uid = ?", uid) == "may"
