"""Hostile texts on the command line: import, decide, export, and show on the terminal."""

import json
import unicodedata
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.project.opening import open_project
from db.engine import reading, writing
from db.models import Anchor, AnchorRevision, Status, Variant
from db.settings import load_settings
from tests.cli.support.commands import ask, complaint, show
from tests.support.databases import Copies, opened
from tests.support.hostile import HUGE, REFUSED, TEXTS, stored
from tests.support.hostile_project import fill

STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that control a terminal or change the reading direction."""


def lines_file(path: Path, texts: dict[str, str]) -> Path:
    """A file of JSON Lines, the only text format that can contain all of them unchanged."""
    rows = ({"text": text, "genre": name} for name, text in texts.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def anchors() -> dict[str, str]:
    """Genre → text of every stored anchor."""
    with reading(open_project(load_settings())) as session:
        query = select(col(Anchor.genre), col(AnchorRevision.text)).join(
            AnchorRevision, col(AnchorRevision.anchor_id) == col(Anchor.id)
        )
        return {row.genre: row.text for row in session.execute(query)}


@pytest.fixture
def empty(home: Path, copies: Copies) -> Path:
    copies.migrated(home / "hedgerow.db")
    return home


@pytest.fixture
def hostile(home: Path, copies: Copies) -> Path:
    with opened(copies.migrated(home / "hedgerow.db")) as engine, writing(engine) as session:
        fill(session)
    return home


def quiet(text: str) -> bool:
    """Whether the text contains nothing that controls a terminal."""
    return not [c for c in text if c != "\n" and unicodedata.category(c) in STEERING]


def test_anchors_come_in_and_their_texts_are_canonical(empty: Path) -> None:
    file = lines_file(empty / "-evil '$(x)' <b>.jsonl", TEXTS)
    options = ("--column", "text", "--genre-column", "genre", "--include-suspicious")
    for name in ("=cmd|' /C calc'!A0", TEXTS["script"]):
        output = show("anchors", "add", str(file), *options, "--source", name, "--dry-run")
        assert quiet(output)
    ask("anchors", "add", str(file), *options, "--source", TEXTS["script"])
    assert anchors() == stored()


@pytest.mark.parametrize("name", [*REFUSED, "huge"])
def test_rows_that_are_not_sentences_are_always_left_out(empty: Path, name: str) -> None:
    text = REFUSED.get(name, HUGE)
    file = lines_file(empty / "file.jsonl", {"good": "It is good.", "bad": text})
    output = show("anchors", "add", str(file), "--column", "text", "--include-suspicious")
    assert "Added 1 anchor " in output
    assert quiet(output)
    assert list(anchors().values()) == ["It is good."]


@pytest.mark.slow
def test_no_command_steers_the_terminal(hostile: Path) -> None:
    with reading(open_project(load_settings())) as session:
        uid = session.execute(
            select(col(Variant.uid)).where(col(Variant.status) == Status.PENDING)
        ).scalar_one()
    for command in (
        ("status",),
        ("review", "accept", uid, "--reviewer", TEXTS["bidirectional"], "--note", TEXTS["latex"]),
        ("review", "undo", "--reviewer", TEXTS["bidirectional"]),
        ("review", "apply", "--rule", "no flags", "--accept", "--dry-run"),
        ("release", "create", "--name", TEXTS["rich markup"]),
        ("release", "list"),
        ("anchors", "list"),
    ):
        assert quiet(show(*command)), command
    for command in (
        ("review", "accept", TEXTS["rich markup"], "--reviewer", "Ada"),
        ("review", "accept", uid, "--reviewer", REFUSED["link of a terminal"]),
    ):
        assert quiet(complaint(*command)), command


@pytest.mark.slow
def test_an_export_can_be_imported_with_the_same_texts(hostile: Path) -> None:
    ask("export", str(hostile / "out"), "--format", "jsonl")
    file = str(hostile / "out" / "variants.jsonl")
    for column in ("text", "anchor"):
        again = ask("anchors", "add", file, "--column", column, "--include-suspicious", "--dry-run")
        # Every variant's text is also an anchor of this project, so all of them must be known.
        assert (again["new"], again["suspicious"], again["duplicates"]) == (0, 0, len(TEXTS))
