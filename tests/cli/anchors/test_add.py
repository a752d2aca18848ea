"""hedgerow anchors add: from a file or standard input, all or nothing."""

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from tests.cli.support.commands import ask, complaint, show

CSV = (
    "text,genre\nThe bridge is safe.,news\nThe ferry is late.,\nThe bridge is safe.,news\n"
    "Is it open?,news\n,news\nThe ferry isn't safe.,law\n"
)


def stored(home: Path) -> list[tuple[str, str, str, str, str]]:
    """(text, genre, language, source, licence) of every anchor, in order."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(
            "SELECT r.text, a.genre, a.language, s.name, s.licence FROM anchor a"
            " JOIN anchor_revision r ON r.anchor_id = a.id JOIN source s ON s.id = a.source_id"
            " ORDER BY a.id"
        ).fetchall()


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
    with sqlite3.connect(home / "hedgerow.db") as connection:
        query = (
            "SELECT DISTINCT w.name FROM anchor_revision r JOIN reviewer w ON w.id = r.author_id"
        )
        assert connection.execute(query).fetchall() == [("Ada",)]


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
        (["."], "Is a directory"),
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


def test_hostile_texts_cannot_steer_the_terminal(file: Path) -> None:
    file.write_text("text\n\x1b[31mRed\x1b]0;title\x07 is here.\nIs \u202eit?\n", "utf-8")
    shown = show("anchors", "add", str(file), "--dry-run")
    assert "\x1b" not in shown and "\x07" not in shown and "\u202e" not in shown


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
    assert "Left out: 1 row rejected in the source ('answer')." in dry
    assert "labels 'hypothesis' as 1 entailment and 1 contradiction" in dry
    done = ask("anchors", "add", str(file))
    assert done["added"] == 2 and len(done["notes"]) == 2
    assert done["originals"]["added"] == {"entailment": 1, "contradiction": 1}
    texts = {anchor["text"] for anchor in ask("anchors", "list")["anchors"]}
    assert texts == {"A man sleeps.", "A dog barks."}
