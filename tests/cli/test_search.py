"""Searching on the command line."""

import pytest

from curation.project.opening import open_project
from curation.review.notes import add_note
from db.engine import writing
from db.settings import load_settings
from tests.cli.support.commands import add_small_project, ask, show
from tests.support.factories import person


@pytest.fixture(autouse=True)
def project(opened_home: object) -> None:
    """An anchor with two variants, one of them with a note."""
    add_small_project()
    engine = open_project(load_settings())
    with writing(engine) as session:
        add_note(session, 1, reviewer_id=person(session), text="Which DOOR is it?")
    engine.dispose()


def test_all_three_kinds_are_searched() -> None:
    found = ask("search", "door IS")
    assert [found[kind]["total"] for kind in ("anchors", "variants", "notes")] == [1, 2, 1]
    assert found["notes"]["hits"][0] | {"variant": "", "anchor": ""} == {
        "anchor": "",
        "variant": "",
        "text": "Which DOOR is it?",
        "retired": False,
        "type": "verbal",
        "status": "pending",
        "variant_text": "The door is not open.",
    }


def test_a_search_can_be_narrowed_and_limited() -> None:
    found = ask("search", "door", "--in", "variants", "--in", "notes", "--limit", "1")
    assert "anchors" not in found
    assert (found["variants"]["total"], len(found["variants"]["hits"])) == (2, 1)
    assert found["notes"]["total"] == 1


def test_the_output_says_how_much_there_is() -> None:
    printed = show("search", "door", "--limit", "1")
    assert "The door is open." in printed
    assert "2 variants contain it. Showing the first 1." in printed
    assert show("search", "nowhere", "--in", "notes") == "0 notes contain it.\n"


@pytest.mark.parametrize("text", ['"', "NEAR(", "%", "_", "a" * 20_000, "\x1b[31m", "\u200f"])
def test_hostile_text_is_not_an_error(text: str) -> None:
    assert ask("search", text)["variants"]["total"] == 0
