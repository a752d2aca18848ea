"""Creating a project and counting its content."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from curation.corpora.corpus import FIRST
from curation.project.opening import open_project
from curation.taxonomy.built_in import TAXONOMY
from db.engine import writing
from db.runs import create_run
from db.settings import load_settings
from tests.cli.support.commands import add_small_project, ask, process, show

STATES = ["pending", "accepted", "rejected", "conflict", "superseded"]


@pytest.mark.slow
def test_init_loads_the_first_corpora_once(home: Path) -> None:
    first = process("init", "--json")
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert answer["added"]["anchors"] == sum(corpus.anchors for corpus in FIRST)
    counts = ask("status")["variants"].values()
    assert answer["added"]["variants"] == sum(sum(row.values()) for row in counts)
    assert answer["database"].endswith(str(home / "hedgerow.db"))
    before = ask("status")
    assert ask("init")["added"] == {"anchors": 0, "variants": 0, "decisions": 0}
    assert ask("status") == before


def test_an_empty_project_counts_nothing_of_every_type() -> None:
    assert ask("init", "--empty")["added"]["anchors"] == 0
    answer = ask("status")
    assert answer["anchors"] == 0
    assert list(answer["variants"])[:2] == ["verbal", "absolute"]
    assert list(answer["variants"].values()) == [dict.fromkeys(STATES, 0)] * len(TAXONOMY)
    assert (answer["runs"], answer["releases"], answer["encoders"]) == ([], [], [])


@pytest.mark.slow
def test_status_counts_what_the_database_holds(loaded_home: Path) -> None:
    answer = ask("status")
    with sqlite3.connect(loaded_home / "hedgerow.db") as connection:
        rows = connection.execute(
            "SELECT type_id, status, count(*) FROM variant GROUP BY type_id, status"
        ).fetchall()
    counted = {
        (name, state): number
        for name, row in answer["variants"].items()
        for state, number in row.items()
        if number
    }
    assert counted == {(name, state): number for name, state, number in rows}
    assert answer["anchors"] == 1369
    undecided = answer["variants"]["verbal"]["pending"]
    assert 0.15 < undecided / 1369 < 0.25
    shown = show("status")
    assert re.search(rf"verbal +{undecided} ", shown)
    assert "affirmation" in answer["variants"] and "affirmation" not in shown


def test_status_of_an_empty_project_has_no_table_of_types() -> None:
    ask("init", "--empty")
    shown = show("status")
    assert "It contains 0 anchors" in shown and "pending" not in shown


def test_texts_from_the_database_cannot_steer_the_terminal() -> None:
    add_small_project()
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = create_run(session, kind="\x1b[2J[red]kind[/red]", parameters={})
        run.message = "\x1b]0;owned\x07 \N{RIGHT-TO-LEFT OVERRIDE}abc\r\nno :smile:"
    shown = show("status")
    assert not set(shown) & {"\x1b", "\x07", "\r", "\N{RIGHT-TO-LEFT OVERRIDE}"}
    assert "[red]kind[/red]" in shown and "no :smile:" in shown
