"""hedgerow variants add: a mapping, a dry run, and an import as a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.diagnostics import measuring
from tests.cli.support.commands import ask, complaint, show

TABLE = (
    "sentence;negated;fine?\n"
    "The bridge is safe.;The bridge is not safe.;good\n"
    "The ferry is late.;The ferry is not late.;odd\n"
    "The kiln is hot.;The kiln is hardly hot.;\n"
    ";Nothing is hot.;\n"
)
MAPPED = ("--map", "sentence=anchor", "--map", "fine?=verdict", "--verdict", "odd=reject")


@pytest.fixture
def file(opened_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A CSV file in an empty project. No measuring process is started."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    path = opened_home / "mine.csv"
    path.write_text(TABLE, "utf-8")
    return str(path)


def counts() -> dict[str, Any]:
    status = ask("status")
    by_type = status["variants"]
    return {"anchors": status["anchors"]} | {t: n for t, n in by_type.items() if any(n.values())}


def test_a_table_is_imported_by_a_mapping(file: str) -> None:
    answer = ask("variants", "add", file, *MAPPED, "--reviewer", "Ada", "--licence", "CC0")
    assert answer["state"] == "done"
    assert (answer["anchors"], answer["variants"], answer["decisions"]) == (2, 2, 2)
    assert answer["types"] == {"verbal": 2}
    assert answer["verdicts"] == {"Ada": 2}
    assert answer["columns"] == {
        "sentence": "anchor",
        "negated": "negation",
        "fine?": "verdict",
    }
    assert answer["left_out"] == {"no_anchor": 1, "undecided": 1}
    assert answer["places"] == {
        "no_anchor": "line 5 of mine.csv",
        "undecided": "line 4 of mine.csv",
    }
    verbal = counts()["verbal"]
    assert (verbal["accepted"], verbal["rejected"], verbal["pending"]) == (1, 1, 0)
    undone = ask("review", "undo", "--reviewer", "Ada")
    assert counts()["verbal"]["pending"] == 2
    assert undone


def test_existing_rows_are_skipped(file: str) -> None:
    first = ask("variants", "add", file, *MAPPED, "--reviewer", "Ada")
    before = counts()
    again = ask("variants", "add", file, *MAPPED, "--reviewer", "Ada")
    assert (again["variants"], again["decisions"], again["run"]) == (0, 0, None)
    assert first["run"] is not None
    assert counts() == before
    output = show("variants", "add", file, *MAPPED, "--reviewer", "Ada")
    assert "Nothing is left to import: the project has everything that could be imported" in output


def test_a_dry_run_says_what_would_be_added_and_stores_nothing(file: str, home: Path) -> None:
    output = show("variants", "add", file, *MAPPED, "--reviewer", "Ada", "--dry-run")
    assert "Would add 2 anchors, 2 variants and 2 verdicts." in output
    assert "rows without an anchor" in output and "line 5 of mine.csv" in output
    assert counts() == {"anchors": 0}
    assert ask("runs", "list")["runs"] == []
    assert not list(home.rglob("*.sqlite"))


def test_undecided_ones_take_the_type_that_is_named(file: str) -> None:
    options = ("--undecided", "free_contradiction", "--accept", "--map", "fine?=ignore")
    answer = ask("variants", "add", file, "--map", "sentence=anchor", *options)
    assert answer["types"] == {"verbal": 2, "free_contradiction": 1}
    assert answer["verdicts"] == {"data set labels": 3}


def test_an_export_is_imported_unchanged(
    file: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("variants", "add", file, *MAPPED, "--reviewer", "Ada")
    released = ask("release", "create")
    ask("export", "out", "--format", "hf")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("HEDGEROW_HOME", str(other))
    ask("init", "--empty")
    ask("variants", "add", str(home / "out"), "--reviewer", "Bo")
    assert ask("release", "create")["hash"] == released["hash"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--map", "sentence=ignore"), "Expected a column of anchors in mine.csv"),
        (("--map", "sentence=anchor", "--map", "nothing=text"), "Expected a column 'nothing'"),
        (("--map", "sentence=subject"), "Expected a role (anchor, text"),
        ((*MAPPED[:4],), "Expected a verdict (accept or reject) in 'fine?', found 'odd' on line 3"),
        (MAPPED, "has 2 verdicts without a reviewer name"),
        ((*MAPPED, "--verdict", "odd"), "Expected VALUE=accept, VALUE=reject or VALUE=none"),
        ((*MAPPED, "--undecided", "sarcastic"), "Expected a type of hedges, paraphrases or negat"),
        (
            (*MAPPED, "--undecided", "verbal", "--undecided", "lexical"),
            "Expected one type for each negation of unknown type",
        ),
        ((*MAPPED, "--reviewer", "Ada", "--language", "??"), "Expected a language"),
    ],
)
def test_wrong_input_gives_one_sentence_and_changes_nothing(
    file: str, arguments: tuple[str, ...], words: str
) -> None:
    assert words in complaint("variants", "add", file, *arguments)
    assert counts() == {"anchors": 0}
    assert ask("runs", "list")["runs"] == []


def test_formulas_are_texts(file: str, home: Path) -> None:
    path = home / "formulas.jsonl"
    formula = '=HYPERLINK("http://x","It is not hot.")'
    path.write_text(json.dumps({"anchor": "It is hot.", "verbal": formula}) + "\n")
    ask("variants", "add", str(path))
    assert formula in json.dumps(ask("search", "HYPERLINK", "--in", "variants")).replace('\\"', '"')


def test_a_file_that_is_not_there_is_reported(opened_home: Path) -> None:
    assert "nowhere.csv" in complaint("variants", "add", "nowhere.csv")
