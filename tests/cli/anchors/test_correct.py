"""Anchors on the command line: find, correct, retire, restore, and write variants and notes."""

import sqlite3
from pathlib import Path

import pytest

from tests.cli.support.commands import ask, complaint, show

pytestmark = pytest.mark.slow  # loading the starter corpus takes seconds


@pytest.fixture
def home_of_bo(loaded_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The starter corpus, on which Bo has worked."""
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
    shown = show("anchors", "list", "--search", anchor["uid"])
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
    assert answer == {"anchor": uid, "revision": 2, "second_looks": 7, "carried_over": []}
    marked = "SELECT count(*) FROM variant WHERE second_look AND status = 'pending'"
    assert one(home_of_bo, marked) == 7
    assert "found the current one" in complaint("anchors", "correct", uid, "A wording of its own.")
    assert ask("anchors", "list", "--search", "of its own")["anchors"][0]["revision"] == 2


def test_retiring_and_restoring_can_be_repeated(home_of_bo: Path) -> None:
    uid = first_anchor()
    for command, retired in (("retire", True), ("restore", False)):
        for changed in ([uid], []):
            answer = ask("anchors", command, uid)
            unchanged = [] if changed else [uid]
            assert answer == {
                "changed": changed,
                "unchanged": unchanged,
                "retired": retired,
            }
    assert "There is no anchor" in complaint("anchors", "retire", "nope")


def uids(number: int) -> list[str]:
    return [anchor["uid"] for anchor in ask("anchors", "list", "--limit", str(number))["anchors"]]


def test_several_anchors_are_retired_at_once_or_none(home_of_bo: Path) -> None:
    first, second, third = uids(3)
    assert "no anchor 'nope'" in complaint("anchors", "retire", first, "nope")
    assert ask("anchors", "list", "--retired")["total"] == 0
    said_ = show("anchors", "retire", first, second)
    assert "2 anchors retired." in said_
    assert "1 anchor retired. 2 anchors were retired already." in show(
        "anchors", "retire", first, second, third
    )
    assert "3 anchors restored." in show("anchors", "restore", first, second, third)


def test_genre_and_language_are_set_for_several_anchors(home_of_bo: Path) -> None:
    first, second = uids(2)
    answer = ask("anchors", "set", first, second, "--genre", "news", "--language", "en-GB")
    assert set(answer["changed"]) == {first, second}
    assert ask("anchors", "list", "--genre", "news", "--search", first)["total"] == 1
    stored = "SELECT language FROM anchor WHERE uid = ?"
    assert one(home_of_bo, stored, second) == "en-GB"
    assert "found neither" in complaint("anchors", "set", first)
    assert "'en' or 'en-GB'" in complaint("anchors", "set", first, "--language", "German!")


@pytest.mark.parametrize("text", ["The bridge isn't safe.", "Bridge.", "Die Brücke ist sicher."])
def test_a_suspicious_wording_needs_force(home_of_bo: Path, text: str) -> None:
    uid = first_anchor()
    said_ = complaint("anchors", "correct", uid, text)
    assert "Nothing was changed" in said_ and "--force" in said_
    assert ask("anchors", "list", "--search", uid)["anchors"][0]["revision"] == 1
    assert ask("anchors", "correct", uid, text, "--force")["revision"] == 2


@pytest.mark.parametrize("character", ["\u202e", "\u2067", "\x1b"])
def test_direction_and_control_characters_are_refused_with_force_too(
    home_of_bo: Path, character: str
) -> None:
    uid = first_anchor()
    text = f"The {character}bridge is safe."
    assert "plain text" in complaint("anchors", "correct", uid, text, "--force")
    assert one(home_of_bo, "SELECT count(*) FROM anchor_revision WHERE revision > 1") == 0


def with_a_better_wording(home: Path) -> tuple[str, str]:
    """An anchor about a bridge whose variants are all accepted, and a corrected text for it."""
    uid = str(
        one(
            home,
            "SELECT a.uid FROM anchor a JOIN variant v ON v.anchor_id = a.id"
            " JOIN anchor_revision r ON r.anchor_id = a.id"
            " WHERE v.status = 'accepted' AND r.text LIKE '% bridge %' AND v.text LIKE '% bridge %'"
            " GROUP BY a.id HAVING count(*) = 7 LIMIT 1",
        )
    )
    (anchor,) = ask("anchors", "list", "--search", uid)["anchors"]
    return uid, str(anchor["text"]).replace("bridge", "footbridge")


def test_a_correction_is_carried_over_to_accepted_variants(home_of_bo: Path) -> None:
    uid, better = with_a_better_wording(home_of_bo)
    answer = ask("anchors", "correct", uid, better, "--carry-over")
    texts = [carried["text"] for carried in answer["carried_over"]]
    assert len(texts) > 3 and all("footbridge" in text for text in texts)
    accepted = "SELECT count(*) FROM variant WHERE status = 'accepted' AND text LIKE '%footbridge%'"
    assert one(home_of_bo, accepted) == len(texts)
    assert len(texts) + answer["second_looks"] == 7
    ask("review", "undo")
    assert one(home_of_bo, accepted) == 0


def test_without_carry_over_the_variants_keep_their_words(home_of_bo: Path) -> None:
    uid, better = with_a_better_wording(home_of_bo)
    output = show("anchors", "correct", uid, better)
    assert "also contain the corrected words" in output
    assert one(home_of_bo, "SELECT count(*) FROM variant WHERE text LIKE '%footbridge%'") == 0


def test_a_users_own_variant_and_a_note_on_it(home_of_bo: Path) -> None:
    words = ("review", "write", "--anchor", first_anchor(), "--type", "word", "--text")
    answer = ask(*words, "It may well be so.", "--cue", "may")
    assert (answer["status"], answer["cue"]) == ("accepted", "may")
    assert "it is accepted" in complaint(*words, "It may well be so.")
    uid = answer["variant"]
    assert ask("review", "note", uid, "Mine.") == {"variant": uid, "notes": 1}
    child = ask("review", "edit", uid, "--cue", "may well")["child"]
    asked = "SELECT cue || ' ' || type_id FROM variant WHERE uid = ?"
    assert one(home_of_bo, asked, child) == "may well phrase"
    ask("review", "undo")
    assert one(home_of_bo, "SELECT status FROM variant WHERE uid = ?", uid) == "accepted"
