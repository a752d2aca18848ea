"""Gold items and statistics of people on the command line."""

from pathlib import Path

import pytest

from curation.project.opening import GOLD_RATE, PRACTISE_FIRST
from tests.cli.support.commands import add_small_project, ask, complaint, show


@pytest.fixture
def uids(opened_home: object) -> list[str]:
    """The two variants of a small project. Ada has accepted the first, and Ben has rejected it."""
    found = add_small_project()
    ask("review", "accept", found[0], "--reviewer", "Ada")
    ask("review", "reject", found[0], "--reviewer", "Ben", "--reason", "meaning_changed")
    return found


def add(uid: str, verdict: str, *more: str) -> dict[str, object]:
    return ask("review", "gold", "add", uid, verdict, "--reviewer", "Lena", *more)


def test_items_are_made_listed_and_removed(uids: list[str]) -> None:
    why = "Both can be true."
    refused = complaint("review", "gold", "add", uids[0], "reject", "--reviewer", "Lena")
    assert "Expected a reason for 'reject', found none" in refused
    made = add(uids[0], "reject", "--reason", "wrong_scope", "--explanation", why)
    assert (made["verdict"], made["use"], made["explanation"]) == ("reject", "mixed", why)
    assert add(uids[1], "accept", "--training")["use"] == "training"
    listed = ask("review", "gold", "list")["gold"]
    assert [one["uid"] for one in listed] == uids and listed[0] == made
    shown = show("review", "gold", "list")
    assert why in shown and "practice rounds" in shown
    assert "does not show gold items yet" in shown
    ask("settings", "set", GOLD_RATE, "20")
    assert "does not show gold items yet" not in show("review", "gold", "list")
    assert ask("status")["variants"]["verbal"]["rejected"] == 1
    assert "is a gold item, which settles it" in complaint(
        "review", "settle", uids[0], "accept", "--reviewer", "Lena"
    )
    assert "stays settled as rejected" in show("review", "gold", "remove", uids[0])
    assert [one["uid"] for one in ask("review", "gold", "list")["gold"]] == uids[1:]
    ask("review", "undo", "--reviewer", "Lena")
    assert show("review", "gold", "list").strip() == "There are no gold items yet."


def test_a_reviewer_changes_nothing_about_it(uids: list[str]) -> None:
    add(uids[1], "accept")
    done = ask("review", "reject", uids[1], "--reviewer", "Ada", "--reason", "wrong_type")
    assert done["status"] == "accepted"
    done = ask("review", "edit", uids[1], "--text", "It isn't so.", "--reviewer", "Ben")
    assert done["status"] == "accepted" and done["child"]
    assert len(ask("review", "gold", "list")["gold"]) == 1


def test_an_unsuitable_gold_item_is_refused(uids: list[str]) -> None:
    assert "There is no variant" in complaint(
        "review", "gold", "add", "0" * 16, "accept", "--reviewer", "Lena"
    )
    assert "is not a gold item" in complaint("review", "gold", "remove", uids[1])
    assert ask("review", "gold", "list") == {"gold": []}


def test_figures_of_people_as_a_table_json_and_a_file(uids: list[str], tmp_path: Path) -> None:
    ask("review", "settle", uids[0], "accept", "--reviewer", "Lena")
    ask("review", "accept", uids[1], "--reviewer", "=1+1")
    file = tmp_path / "people.csv"
    found = {
        one["name"]: one for one in ask("reviewers", "statistics", "--csv", str(file))["people"]
    }
    ada = found["Ada"]
    assert (ada["decisions"], ada["also_decided_by_others"]) == (1, 1)
    assert ada["adjudicated"]["number"] == ada["adjudicated"]["of"] == 1
    assert ada["adjudicated"]["low"] == pytest.approx(0.025)
    assert found["Ben"]["adjudicated"]["number"] == 0
    assert ada["types"] == {"verbal": ada["accepted"]}
    assert ada["median_seconds"] is None and ada["gold"]["share"] is None
    assert "Lena" not in found  # a settlement is not a verdict on a freely chosen variant
    rows = file.read_text(encoding="utf-8-sig").splitlines()
    assert rows[0].startswith("reviewer,type,decisions,accepted")
    assert len(rows) == 1 + 2 * 3 and any(row.startswith("'=1+1,all,1,1,1.0") for row in rows)
    shown = show("reviewers", "statistics")
    assert "1 of 1" in shown and "2.5%" not in shown
    assert "Intervals are shown for 10 or more verdicts." in shown


def test_an_empty_project_has_no_figures(opened_home: object) -> None:
    assert ask("reviewers", "statistics") == {"people": []}
    assert "Nobody has decided on a variant yet." in show("reviewers", "statistics")


def test_the_rate_and_who_practises_first_are_settings(opened_home: object) -> None:
    assert ask("settings", "set", GOLD_RATE, "20")["changed"]
    assert ask("settings", "set", GOLD_RATE, "20") == {"setting": GOLD_RATE, "changed": False}
    assert ask("settings", "set", PRACTISE_FIRST, "on")["changed"]
    own = ask("settings")["project"]
    assert (own[GOLD_RATE], own[PRACTISE_FIRST]) == (20, True)
    assert "one in 2 to 1,000 cards, found 1" in complaint("settings", "set", GOLD_RATE, "1")
    assert "Expected a number of cards" in complaint("settings", "set", GOLD_RATE, "often")
    assert "Expected 'on' or 'off'" in complaint("settings", "set", PRACTISE_FIRST, "yes")
    assert ask("settings")["project"] == own
