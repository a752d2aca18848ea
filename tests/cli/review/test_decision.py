"""Deciding on the command line: single variants, by rule, and undo."""

import re
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col
from typer.testing import CliRunner

import cli
from curation.project.opening import open_project
from db.engine import reading
from db.models import Status, Variant
from db.settings import load_settings
from hedgerow.data.deciding import NO_REASON
from tests.cli.support.commands import ask, complaint, show

RULE = ("review", "apply", "--rule", "levenshtein > 30 and no flags")


def pending(home: Path, *, type_id: str = "verbal") -> list[str]:
    """The uids of the pending variants of a type."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        query = "SELECT uid FROM variant WHERE status = 'pending' AND type_id = ? ORDER BY id"
        return [uid for (uid,) in connection.execute(query, [type_id])]


def decisions(home: Path) -> list[tuple[str, str, str, str, str]]:
    """(variant uid, reviewer, verdict, reason, note) of every decision of a person, in order."""
    with sqlite3.connect(home / "hedgerow.db") as connection:
        return connection.execute(
            "SELECT v.uid, r.name, d.verdict, d.reason, d.note FROM decision d"
            " JOIN variant v ON v.id = d.variant_id JOIN reviewer r ON r.id = d.reviewer_id"
            " WHERE r.kind = 'person' ORDER BY d.id"
        ).fetchall()


def test_a_decision_is_stored_under_the_name_given(loaded_home: Path) -> None:
    first, second, *_ = pending(loaded_home)
    answer = ask("review", "accept", first, "--reviewer", "Ann", "--note", "fine")
    assert answer == {"variant": first, "status": "accepted", "child": None}
    answer = ask("review", "reject", second, "--reviewer", "Ann", "--reason", "wrong_scope")
    assert answer["status"] == "rejected"
    assert decisions(loaded_home) == [
        (first, "Ann", "accept", "", "fine"),
        (second, "Ann", "reject", "wrong_scope", ""),
    ]


def test_only_conflicts_can_be_settled(loaded_home: Path) -> None:
    uid, other, *_ = pending(loaded_home)
    ask("review", "accept", uid, "--reviewer", "Ann")
    assert "'hedgerow review settle'" in show("review", "reject", uid, "--reviewer", "Bo")
    assert "in conflict, found" in complaint("review", "settle", other, "accept", "--reviewer", "C")
    answer = ask("review", "settle", uid, "reject", "--reviewer", "Cy", "--reason", "wrong_scope")
    assert answer == {"variant": uid, "status": "rejected", "child": None}
    assert decisions(loaded_home)[-1] == (uid, "Cy", "reject", "wrong_scope", "")
    ask("review", "undo", "--reviewer", "Cy")
    assert ask("review", "settle", uid, "accept", "--reviewer", "Cy")["status"] == "accepted"


def test_the_settings_name_the_reviewer_and_nobody_decides_without_a_name(
    loaded_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = pending(loaded_home)[0]
    assert "HEDGEROW_REVIEWER" in complaint("review", "accept", uid)
    assert decisions(loaded_home) == []
    monkeypatch.setenv("HEDGEROW_REVIEWER", "Bo")
    ask("review", "accept", uid)
    assert decisions(loaded_home) == [(uid, "Bo", "accept", "", "")]


def test_a_rejection_without_a_reason_says_so(loaded_home: Path) -> None:
    uid = pending(loaded_home)[0]
    ask("review", "reject", uid, "--reviewer", "Ann")
    assert decisions(loaded_home) == [(uid, "Ann", "reject", "other", NO_REASON)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--reason", "ugly"], "wrong_type.*'ugly'"),
        (["--reason", "other"], "note"),
        (["--reason", "not_a_hedge"], "'Not a hedge' is for hedges"),
        (["--reviewer", "starter-llm", "--reason", "wrong_type"], "model reviewer"),
    ],
)
def test_a_refused_rejection_changes_nothing(
    loaded_home: Path, arguments: list[str], expected: str
) -> None:
    uid = pending(loaded_home)[0]
    assert re.search(expected, complaint("review", "reject", uid, "--reviewer", "Ann", *arguments))
    assert decisions(loaded_home) == []
    assert uid in pending(loaded_home)


def test_an_unknown_uid_is_named(loaded_home: Path) -> None:
    assert "'zz'" in complaint("review", "accept", "zz", "--reviewer", "Ann")


def test_an_edit_is_undone_as_a_whole(loaded_home: Path) -> None:
    uid = pending(loaded_home)[0]
    answer = ask("review", "edit", uid, "--text", "It is not so.", "--reviewer", "Ann")
    assert answer["status"] == "superseded"
    assert len(answer["child"]) == 16
    undone = ask("review", "undo", "--reviewer", "Ann")
    assert undone == {"undone": 2, "what": "edit", "variant": uid}
    assert uid in pending(loaded_home)
    nothing = {"undone": 0, "what": None, "variant": None}
    assert ask("review", "undo", "--reviewer", "Ann") == nothing


def test_undo_reverses_the_last_action_even_a_note(loaded_home: Path) -> None:
    uid = pending(loaded_home)[0]
    ask("review", "accept", uid, "--reviewer", "Ann")
    assert ask("review", "note", uid, "By the way.", "--reviewer", "Ann")["notes"] == 1
    assert re.fullmatch(
        r"Note on “.+” removed\.", show("review", "undo", "--reviewer", "Ann").strip()
    )
    assert ask("review", "note", uid, "Again.", "--reviewer", "Ann")["notes"] == 1
    undone = ask("review", "undo", "--reviewer", "Ann")
    assert undone == {"undone": 1, "what": "note", "variant": uid}
    assert uid not in pending(loaded_home)
    assert show("review", "undo", "--reviewer", "Ann").strip() == "Acceptance undone."
    assert uid in pending(loaded_home)
    assert "nothing left" in show("review", "undo", "--reviewer", "Ann")


def test_a_variant_can_be_given_its_right_type(loaded_home: Path) -> None:
    uid = pending(loaded_home, type_id="affixal")[0]
    child = ask("review", "edit", uid, "--type", "lexical", "--reviewer", "Ann")["child"]
    engine = open_project(load_settings())
    with reading(engine) as session:
        row = session.execute(select(Variant).where(col(Variant.uid) == child)).scalar_one()
    assert (row.type_id, row.status) == ("lexical", Status.ACCEPTED)


def test_a_dry_run_counts_what_the_real_one_decides(loaded_home: Path) -> None:
    before = ask("status")["variants"]
    dry = ask(*RULE, "--accept", "--dry-run")
    assert ask("status")["variants"] == before
    done = ask(*RULE, "--accept", "--reviewer", "Ann")
    assert dry["variants"] == done["variants"] > 0
    assert dry["action"] is None and len(done["action"]) == 36
    after = ask("status")["variants"]
    moved = {name: row["accepted"] - before[name]["accepted"] for name, row in after.items()}
    assert {name: number for name, number in moved.items() if number} == done["types"]
    assert ask("review", "undo", "--reviewer", "Ann")["undone"] == done["variants"]
    assert ask("status")["variants"] == before


@pytest.mark.parametrize(
    ("given", "reason", "note"),
    [
        ((), "other", "Rejected without a reason."),
        (("--reason", "ungrammatical"), "ungrammatical", ""),
        (("--reason", "other", "--note", "Too long."), "other", "Too long."),
    ],
)
def test_reject_and_apply_ask_for_the_same(
    given: tuple[str, ...], reason: str, note: str, loaded_home: Path
) -> None:
    uid = pending(loaded_home, type_id="verbal")[0]
    ask("review", "reject", uid, *given, "--reviewer", "Ann")
    assert [row[1:] for row in decisions(loaded_home)] == [("Ann", "reject", reason, note)]
    ask("review", "undo", "--reviewer", "Ann")
    apply = ("review", "apply", "--rule", "no flags", "--reject", "--type", "verbal")
    done = ask(*apply, *given, "--reviewer", "Bea")
    assert list(done["types"]) == ["verbal"]
    rows = [row[1:] for row in decisions(loaded_home) if row[1] == "Bea"]
    assert len(rows) == done["variants"] > 1
    assert set(rows) == {("Bea", "reject", reason, f"Rule: no flags. {note}".removesuffix(". "))}


@pytest.mark.parametrize("given", [("--reason", "zzz"), ("--reason", "other")])
def test_reject_and_apply_refuse_the_same(given: tuple[str, ...], loaded_home: Path) -> None:
    uid = pending(loaded_home, type_id="verbal")[0]
    apply = ("review", "apply", "--rule", "no flags", "--reject", "--reviewer", "Ann")
    sentence = complaint("review", "reject", uid, *given, "--reviewer", "Ann")
    assert complaint(*apply, *given) == complaint(*apply, *given, "--dry-run") == sentence
    assert decisions(loaded_home) == []


def test_a_reason_is_given_by_its_option_alone(loaded_home: Path) -> None:
    """It used to be a bare word, shown in the usage line without an explanation."""
    assert "review apply [OPTIONS]\n" in show("review", "apply", "--help")
    spelled = ("review", "apply", "--rule", "no flags", "--reviewer", "Ann", "--reject")
    assert CliRunner().invoke(cli.app, [*spelled, "ungrammatical"]).exit_code == 2
    assert decisions(loaded_home) == []


def test_variants_that_a_rule_cannot_judge_are_reported(loaded_home: Path) -> None:
    count = sum(row["pending"] for row in ask("status")["variants"].values())
    arguments = ("review", "apply", "--rule", "cosine < 0.5", "--accept", "--dry-run")
    assert ask(*arguments)["unmeasured"] == count
    assert "hedgerow diagnose" in show(*arguments)


@pytest.mark.parametrize("rule", ["levenshtein >> 3", "cosine < 50", "", "no flags; drop"])
def test_a_rule_that_does_not_read_is_one_sentence(rule: str, home: Path) -> None:
    ask("init", "--empty")
    assert "Expected" in complaint("review", "apply", "--rule", rule, "--accept")
    dry = ("review", "apply", "--rule", "no flags", "--reject", "--reason", "zzz", "--dry-run")
    assert "Expected a reject reason" in complaint(*dry)
