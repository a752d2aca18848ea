"""hedgerow anchors add: from a file or standard input, all or nothing."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cli
from curation.corpora.corpus import CORPORA, Corpus
from curation.diagnostics import measuring
from tests.cli.commands import ask, complaint, show, stored_rows

CSV = (
    "text,genre\nThe bridge is safe.,news\nThe ferry is late.,\nThe bridge is safe.,news\n"
    "Is it open?,news\n,news\nThe ferry isn't safe.,law\n"
)


def stored(home: Path) -> list[tuple[str, str, str, str, str]]:
    """(text, genre, language, source, licence) of every anchor, in order."""
    return stored_rows(
        home,
        "SELECT r.text, a.genre, a.language, s.name, s.licence FROM anchor a"
        " JOIN anchor_revision r ON r.anchor_id = a.id JOIN source s ON s.id = a.source_id"
        " ORDER BY a.id",
    )


@pytest.fixture
def file(opened_home: Path) -> Path:
    """A CSV file in a project without anchors."""
    path = opened_home / "mine.csv"
    path.write_text(CSV, "utf-8")
    return path


def test_new_ones_are_added_and_the_others_counted(file: Path, home: Path) -> None:
    answer = ask(
        "anchors",
        "add",
        str(file),
        "--genre-column",
        "genre",
        "--genre",
        "prose",
        "--licence",
        "CC0",
        "--language",
        "en-GB",
    )
    assert {key: answer[key] for key in ("added", "duplicates", "suspicious", "impossible")} == {
        "added": 2,
        "duplicates": 1,
        "suspicious": 2,
        "impossible": 1,
    }
    assert answer["reasons"] == {"empty": 1, "repeated": 1, "negated": 1, "question": 1}
    assert (answer["column"], answer["source"], answer["format"]) == ("text", "mine", "csv")
    assert stored(home) == [
        ("The bridge is safe.", "news", "en-GB", "mine", "CC0"),
        ("The ferry is late.", "prose", "en-GB", "mine", "CC0"),
    ]
    assert ask("status")["anchors"] == 2


def test_again_nothing_is_added_and_the_file_is_known(file: Path) -> None:
    first = ask("anchors", "add", str(file))
    again = ask("anchors", "add", str(file), "--source", "other")
    assert (again["added"], again["duplicates"], again["run"]) == (0, 3, None)
    assert again["added_before"] == first["run"]
    assert "This file has already been added: 2 anchors from the source 'mine'." in show(
        "anchors", "add", str(file)
    )


def test_a_dry_run_adds_nothing_and_shows_the_problems_of_rows(file: Path, home: Path) -> None:
    shown = show("anchors", "add", str(file), "--dry-run")
    assert "Would add 2 anchors from the column 'text'." in shown
    assert "already negated" in shown and "The anchor is a question" in shown
    assert "--include-suspicious" in shown
    assert ask("anchors", "add", str(file), "--dry-run")["added"] == 0
    assert stored(home) == []


def test_suspicious_ones_and_a_sample_on_request(file: Path, home: Path) -> None:
    answer = ask("anchors", "add", str(file), "--include-suspicious", "--sample", "3")
    assert (answer["added"], answer["chosen"]) == (3, 3)
    assert len(stored(home)) == 3
    sentence = complaint("anchors", "add", str(file), "--sample", "3")
    assert "at most 0 anchors" in sentence
    assert len(stored(home)) == 3


def test_the_standard_input_is_read(file: Path, home: Path) -> None:
    result = CliRunner().invoke(
        cli.app, ["anchors", "add", "-", "--json"], input="The well is deep.\nThe sky is blue.\n"
    )
    answer = json.loads(result.stdout)
    assert (answer["added"], answer["format"], answer["source"]) == (2, "text", "standard input")


def test_the_reviewer_is_the_author(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Ada")
    ask("anchors", "add", str(file))
    query = "SELECT DISTINCT w.name FROM anchor_revision r JOIN reviewer w ON w.id = r.author_id"
    assert stored_rows(home, query) == [("Ada",)]


NLI = (
    "premise,entailment,negative\nA dog runs on the beach.,An animal is outside.,No dog runs.\n"
    "A man plays the guitar.,yes,\n"
)


def test_entailments_and_contradictions_come_along(home: Path) -> None:
    ask("init", "--empty")
    file = home / "nli.csv"
    file.write_text(NLI, "utf-8")
    shown = show("anchors", "add", str(file), "--dry-run")
    assert "Would add 1 entailment from the column 'entailment', pending." in shown
    assert "left out: 1 that are not a sentence" in shown
    answer = ask("anchors", "add", str(file), "--entailment", "", "--accept-originals")
    assert answer["added"] == 2 and answer["originals"] == {
        "columns": {"contradiction": "negative"},
        "added": {"contradiction": 1},
        "left_out": {},
    }
    assert ask("anchors", "add", str(file), "--accept-originals")["originals"]["added"] == {
        "entailment": 1,
        "contradiction": 0,
    }
    types = ask("status")["variants"]
    assert types["entailment"]["accepted"] == types["contradiction"]["accepted"] == 1
    assert ask("anchors", "add", str(file))["originals"]["left_out"] == {
        "there": 2,
        "no_sentence": 1,
    }
    assert "can only be imported" in complaint(
        "generate", "--provider", "rules", "--types", "entailment"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["mine.csv", "--column", "anchor"], "'anchor' in mine.csv, found 'text', 'genre'"),
        (["mine.csv", "--genre-column", "x"], "'x' in mine.csv"),
        (["mine.csv", "--language", "?"], "a language tag such as"),
        (["none.csv"], "No such file"),
        (["mine.csv", "--format", "parquet"], "has another format"),
        (["mine.csv", "--licence", "X"], "enter the same licence"),
        (["mine.csv", "--entailment", "x"], "'x' in mine.csv"),
        (["mine.csv", "--contradiction", "text"], "found 'text' twice"),
    ],
)
def test_an_error_gives_one_sentence_and_adds_nothing(
    file: Path, home: Path, arguments: list[str], expected: str
) -> None:
    with sqlite3.connect(home / "hedgerow.db") as connection:
        connection.execute(
            "INSERT INTO source (name, licence, url, note, content_hash, created_at)"
            " VALUES ('mine', 'CC BY 4.0', '', '', '', '2026-01-01 00:00:00.000000')"
        )
    assert expected in complaint("anchors", "add", *arguments)
    assert stored(home) == []


def test_labels_of_the_source_decide_what_comes_in(home: Path) -> None:
    ask("init", "--empty")
    rows = [
        {"premise": "A man sleeps.", "hypothesis": "A person rests now.", "label": "entailment"},
        {"premise": "A man sleeps.", "hypothesis": "A man runs fast.", "label": "contradiction"},
        {"premise": "A dog barks.", "hypothesis": "It is very loud.", "label": "neutral"},
        {
            "premise": "A cat purrs.",
            "hypothesis": "It is happy.",
            "label": "neutral",
            "answer": "reject",
        },
    ]
    file = home / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dry = show("anchors", "add", str(file), "--dry-run")
    assert "It was rejected in the source ('answer')." in " ".join(dry.split())
    assert "labels 'hypothesis' as 1 entailment and 1 contradiction" in dry
    done = ask("anchors", "add", str(file))
    assert done["added"] == 2 and len(done["notes"]) == 1
    assert done["originals"]["added"] == {"entailment": 1, "contradiction": 1}
    texts = {anchor["text"] for anchor in ask("anchors", "list")["anchors"]}
    assert texts == {"A man sleeps.", "A dog barks."}


NAME = "antonyms"


@pytest.fixture
def ten_families(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every corpus has ten families, and no process is started."""
    read = Corpus.families

    def first(one: Corpus) -> list[dict[str, Any]]:
        return read(one)[:10]

    monkeypatch.setattr(Corpus, "families", first)
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    ask("init", "--empty")


def loaded() -> dict[str, int]:
    return {row["corpus"]: row["anchors"] for row in ask("corpora", "list")["corpora"]}


def statuses() -> dict[str, int]:
    rows = ask("status")["variants"].values()
    return {state: sum(row[state] for row in rows) for state in ("pending", "accepted")}


def test_the_list_says_how_many_anchors_of_how_many_are_here(ten_families: None) -> None:
    assert loaded() == dict.fromkeys(CORPORA, 0)
    assert ask("corpora", "add", NAME)["anchors"] == 10
    assert loaded() == dict.fromkeys(CORPORA, 0) | {NAME: 10}
    sizes = {row["corpus"]: row["of"] for row in ask("corpora", "list")["corpora"]}
    assert sizes == {one.id: one.anchors for one in CORPORA.values()}
    row = next(line for line in show("corpora", "list").splitlines() if line.startswith(NAME))
    assert row.split()[1:3] == ["10", "12344"]


def test_a_complete_corpus_says_that_nothing_was_missing(ten_families: None) -> None:
    assert "added 10 anchors and 30 variants." in show("corpora", "add", NAME)
    assert "nothing was missing." in show("corpora", "add", NAME)


def test_a_corpus_is_pending_until_a_rule_accepts_it_and_has_one_undo(
    ten_families: None,
) -> None:
    variants = ask("corpora", "add", NAME)["variants"]
    assert statuses() == {"pending": variants, "accepted": 0}
    again = ask("corpora", "add", NAME, "--accept-unflagged", "--reviewer", "Ada")
    assert again["anchors"] == 0 and again["accepted"] > 0
    assert statuses()["accepted"] == again["accepted"]
    ask("review", "undo", "--reviewer", "Ada")
    assert statuses() == {"pending": variants, "accepted": 0}


@pytest.fixture
def home_of_bo(loaded_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The starter corpus, on which Bo has worked."""
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")
    return loaded_home


def one(home: Path, query: str, *values: object) -> object:
    return stored_rows(home, query, *values)[0][0]


def first_anchor() -> str:
    (anchor,) = ask("anchors", "list", "--limit", "1")["anchors"]
    return str(anchor["uid"])


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


def test_a_suspicious_wording_needs_force(home_of_bo: Path) -> None:
    uid, text = first_anchor(), "The bridge isn't safe."
    said_ = complaint("anchors", "correct", uid, text)
    assert "Nothing was changed" in said_ and "--force" in said_
    assert ask("anchors", "list", "--search", uid)["anchors"][0]["revision"] == 1
    assert ask("anchors", "correct", uid, text, "--force")["revision"] == 2


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
