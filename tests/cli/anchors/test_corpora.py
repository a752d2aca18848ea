"""The bundled corpora on the command line."""

from pathlib import Path
from typing import Any

import pytest

from curation.corpora.corpus import CORPORA, Corpus
from curation.diagnostics import measuring
from tests.cli.support.commands import ask, show

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
