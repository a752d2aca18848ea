"""Variant types on the command line: list, add, change, retire, restore."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cli
from tests.cli.support.commands import ask, complaint, show

ADD = (
    "types",
    "add",
    "Quantifier negation",
    "--role",
    "negation",
    "--definition",
    "A negated quantifier denies the claim for some.",
    "--anchor",
    "Every bridge is safe.",
    "--example",
    "Not every bridge is safe.",
)


@pytest.fixture(autouse=True)
def project(home: Path) -> None:
    ask("init", "--empty")


def ids(*options: str) -> list[str]:
    return [entry["id"] for entry in ask("types", "list", *options)["types"]]


def test_an_added_type_is_listed_behind_the_built_in_ones() -> None:
    built_in = ids()
    check = {"require_new": ["negator"], "forbid_words": ["perhaps"]}
    added = ask(*ADD, "--check", json.dumps(check))
    assert (added["id"], added["polarity"], added["own"]) == (
        "quantifier_negation",
        "negative",
        True,
    )
    assert ids() == [*built_in, "quantifier_negation"]
    listed = ask("types", "list")["types"][-1]
    assert (listed["surface_check"], listed["variants"]) == (check, 0)
    assert "quantifier_negation" in show("types", "list")
    assert "quantifier_negation" in ask("status")["variants"]


def test_a_change_keeps_fields_that_it_does_not_name(home: Path) -> None:
    ask(*ADD)
    (home / "check.json").write_text('{"require_new": ["negator"]}', "utf-8")
    (home / "guideline.txt").write_text("Rule, none: accept none.\n", "utf-8")
    changed = ask(
        "types",
        "change",
        "quantifier_negation",
        "--name",
        "Negated quantifier",
        "--check",
        f"@{home / 'check.json'}",
        "--guideline",
        str(home / "guideline.txt"),
    )
    assert (changed["version"], changed["label"]) == (2, "Negated quantifier")
    assert changed["definition"] == "A negated quantifier denies the claim for some."
    assert changed["surface_check"] == {"require_new": ["negator"]}
    assert changed["guideline"] == "Rule, none: accept none."
    assert "version 3" in show("types", "change", "quantifier_negation", "--name", "Quantified")


def test_retiring_and_restoring_can_be_repeated() -> None:
    ask(*ADD)
    for command, retired in (("retire", True), ("restore", False)):
        for changed in (True, False):
            answer = ask("types", command, "quantifier_negation")
            assert answer == {"type": "quantifier_negation", "retired": retired, "changed": changed}
        assert ("quantifier_negation" in ids()) is not retired
        assert "quantifier_negation" in ids("--retired")


def test_wrong_input_gives_one_sentence() -> None:
    ask(*ADD)
    assert "is already a type" in complaint(*ADD)
    assert "built in" in complaint("types", "retire", "verbal")
    assert "'nothing'" in complaint("types", "change", "nothing", "--name", "Nothing")
    assert "Expected a change to the type, found none" in complaint(
        "types", "change", "quantifier_negation", "--anchor", "Every bridge is safe."
    )
    for check, about in (("{", "as JSON"), ("[]", "a JSON object"), ('{"a": 1}', "cannot be used")):
        assert about in complaint("types", "change", "quantifier_negation", "--check", check)
    wrong = CliRunner().invoke(cli.app, [*ADD[:4], "relative", *ADD[5:]])
    assert wrong.exit_code == 2
