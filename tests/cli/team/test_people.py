"""Reviewers on the command line."""

import pytest
from typer.testing import CliRunner

import cli
from curation.corpora.corpus import STARTER
from curation.review.people.reviewers import LABELS
from tests.cli.support.commands import add_small_project, ask, complaint, show


@pytest.fixture
def uids(opened_home: object) -> list[str]:
    """The two variants of a small project. Ada rejects the first, which 'ada l.' has accepted."""
    found = add_small_project()
    ask("review", "accept", found[0], "--reviewer", "ada l.")
    ask("review", "reject", found[0], "--reviewer", "Ada", "--reason", "meaning_changed")
    return found


def names() -> list[str]:
    return [one["name"] for one in ask("reviewers", "list")["reviewers"]]


def test_another_spelling_of_a_name_adds_nobody(uids: list[str]) -> None:
    ask("review", "accept", uids[1], "--reviewer", " ADA  L. ")
    assert names() == ["ada l.", "Ada"]
    assert "Ada" in show("reviewers", "list")


@pytest.mark.parametrize("name", [STARTER.reviewer, LABELS.upper(), "judge: gpt-4o"])
def test_nobody_decides_under_a_reserved_name(
    uids: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refused = "is reserved for imports and models"
    assert refused in complaint("review", "accept", uids[1], "--reviewer", name)
    assert refused in complaint("reviewers", "rename", "Ada", name)
    monkeypatch.setenv("HEDGEROW_REVIEWER", name)
    assert refused in complaint("review", "accept", uids[1])
    assert names() == ["ada l.", "Ada"]


def test_a_new_name_is_reported_once_and_only_if_it_is_stored(uids: list[str]) -> None:
    def reported(*arguments: str) -> str:
        return CliRunner().invoke(cli.app, ["review", *arguments, "--json"]).stderr

    assert reported("accept", "0" * 16, "--reviewer", "Adda").startswith("There is no variant")
    added = "Added a new reviewer, 'Adda'. If that is a misspelling, merge it into the right name"
    assert reported("accept", uids[1], "--reviewer", "Adda").startswith(added)
    assert reported("accept", uids[1], "--reviewer", "adda") == ""


def test_a_person_is_renamed(uids: list[str]) -> None:
    assert show("reviewers", "rename", "ada", "Ada Lovelace") == "Ada is now called Ada Lovelace.\n"
    assert names() == ["ada l.", "Ada Lovelace"]
    assert "is another reviewer" in complaint("reviewers", "rename", "ada l.", "ada lovelace")
    assert "There is no person 'Bo'" in complaint("reviewers", "rename", "Bo", "Bob")


def test_a_person_is_added_before_they_begin(uids: list[str]) -> None:
    assert ask("reviewers", "add", "Cy", "viewer") == {"name": "Cy", "role": "viewer"}
    roles = {one["name"]: one["role"] for one in ask("reviewers", "list")["reviewers"]}
    assert roles == {"ada l.": "lead", "Ada": "lead", "Cy": "viewer"}
    assert "The person 'cy' already exists" in complaint("reviewers", "add", "cy")
    assert show("reviewers", "add", "Bo") == "Added Bo as a lead.\n"
    assert ask("review", "quota", "Bo", "10")


def test_a_merge_lists_the_changes_and_asks_first(uids: list[str]) -> None:
    command = ["reviewers", "merge", "ada l.", "Ada"]
    refused = CliRunner().invoke(cli.app, command, input="n\n")
    assert refused.exit_code == 1
    assert "Variants that change from conflict to rejected: 1." in refused.stderr
    assert ask(*command, "--dry-run") == {
        "from": "ada l.",
        "into": "Ada",
        "merged": False,
        "both_decided": 1,
        "statuses": [{"before": "conflict", "after": "rejected", "variants": 1}],
    }
    assert [one["merged_into"] for one in ask("reviewers", "list")["reviewers"]] == [None, None]
    agreed = CliRunner().invoke(cli.app, command, input="y\n")
    assert agreed.stdout.endswith("ada l. and Ada are now one reviewer, Ada.\n")
    assert [one["merged_into"] for one in ask("reviewers", "list")["reviewers"]] == ["Ada", None]


def test_a_merge_is_undone(uids: list[str]) -> None:
    ask("reviewers", "merge", "ada l.", "Ada", "--yes")
    assert show("reviewers", "separate", "ada l.") == "ada l. and Ada are two reviewers again.\n"
    assert "has not been merged" in complaint("reviewers", "separate", "Ada")
