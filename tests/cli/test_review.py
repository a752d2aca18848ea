"""Deciding on the command line: single variants, by rule, and undo."""

import re
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col

from curation.content_uids import variant_uid
from curation.generation.judging.opinion_request import KIND
from curation.generation.prices import set_price
from curation.generation.request import Price
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import ModelCall, Opinion, RunState, Source, Status, Variant
from db.runs import list_runs
from db.settings import load_settings
from tests.cli.commands import ask, complaint, show, stored_rows
from tests.support.factories import TEXTS, add_anchor, add_variant
from tests.support.generating import Serve
from tests.support.servers.chat_server import opinion_on

RULE = ("review", "apply", "--rule", "levenshtein > 30 and no flags")


def pending(home: Path, *, type_id: str = "verbal") -> list[str]:
    """The uids of the pending variants of a type."""
    query = "SELECT uid FROM variant WHERE status = 'pending' AND type_id = ? ORDER BY id"
    return [uid for (uid,) in stored_rows(home, query, type_id)]


def decisions(home: Path) -> list[tuple[str, str, str, str, str]]:
    """(variant uid, reviewer, verdict, reason, note) of every decision of a person, in order."""
    return stored_rows(
        home,
        "SELECT v.uid, r.name, d.verdict, d.reason, d.note FROM decision d"
        " JOIN variant v ON v.id = d.variant_id JOIN reviewer r ON r.id = d.reviewer_id"
        " WHERE r.kind = 'person' ORDER BY d.id",
    )


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


def test_variants_that_a_rule_cannot_judge_are_reported(loaded_home: Path) -> None:
    count = sum(row["pending"] for row in ask("status")["variants"].values())
    arguments = ("review", "apply", "--rule", "cosine < 0.5", "--accept", "--dry-run")
    assert ask(*arguments)["unmeasured"] == count
    assert "hedgerow diagnose" in show(*arguments)


def test_conflicts_are_listed_with_each_persons_verdict(loaded_home: Path) -> None:
    uid, *_ = pending(loaded_home)
    assert show("review", "conflicts").startswith("In conflict: 0 variants.")
    ask("review", "accept", uid, "--reviewer", "Ann")
    ask("review", "reject", uid, "--reviewer", "Bo", "--reason", "wrong_scope", "--note", "Narrow.")
    answer = ask("review", "conflicts", "--order", "most-disputed")
    (found,) = answer["conflicts"]
    assert (found["uid"], found["people"], found["dispute"]) == (uid, 2, 1)
    verdicts = [(v["reviewer"], v["verdict"], v["reason"], v["note"]) for v in found["verdicts"]]
    assert verdicts == [("Ann", "accept", "", ""), ("Bo", "reject", "wrong_scope", "Narrow.")]
    assert ask("review", "conflicts", "--type", "word")["conflicts"] == []
    assert "Expected" in complaint("review", "conflicts", "--source", "nowhere")


def test_a_variant_is_marked_and_the_mark_lifted(loaded_home: Path) -> None:
    uid, *_ = pending(loaded_home)
    answer = ask("review", "discuss", uid, "--reviewer", "Ann", "--remark", "Is it?")
    assert answer == {"variant": uid, "marked": True}
    (found,) = ask("review", "conflicts")["to_discuss"]
    assert (found["uid"], found["reviewer"], found["remark"]) == (uid, "Ann", "Is it?")
    assert "already" in complaint("review", "discuss", uid, "--reviewer", "Bo")
    assert ask("review", "discuss", uid, "--lift", "--reviewer", "Bo")["marked"] is False
    assert "no mark to remove" in complaint("review", "discuss", uid, "--lift", "--reviewer", "Bo")
    assert "marked for discussion again" in show("review", "undo", "--reviewer", "Bo")
    assert len(ask("review", "conflicts")["to_discuss"]) == 1


NAME = "judge: fake, prompt 1"


@pytest.fixture
def variants(home: Path) -> dict[str, str]:
    """One anchor with a variant of each type. Returns their uids."""
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        anchor = add_anchor(session)
        for type_id in TEXTS:
            add_variant(session, anchor, type_id)
        set_price(session, "fake", Price(prompt=1.0, completion=2.0))
        return {
            key: variant_uid(anchor_uid=anchor.uid, type_id=key, text=text)
            for key, text in TEXTS.items()
        }


@pytest.mark.usefixtures("variants")
def test_a_few_are_judged_then_the_rest_and_the_costs_are_known(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    asked = ["review", "judge", "--model", "fake", "--base-url", address]
    before = ask(*asked, "--dry-run")
    assert (before["variants"], before["anchors"], before["cost"]) == (7, 1, None)
    few = ask(*asked, "--types", "verbal, word")
    assert (few["done"], few["failed"], few["reviewer"]) == (2, 0, NAME)
    after = ask(*asked, "--dry-run")
    assert after["variants"] == 5 and after["cost"] > 0
    assert "has judged 5 variants" in show(*asked)
    assert "nothing to judge" in show(*asked)
    assert ask("status")["variants"]["verbal"]["pending"] == 1


@pytest.mark.usefixtures("variants")
def test_a_sample_that_was_broken_off_is_carried_on_by_the_same_command(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = serve_chat()
    asked = ["review", "judge", "--model", "fake", "--base-url", address, "--limit", "3"]
    nothing = {"reviewer": NAME, "done": 0, "failed": 0, "calls": 0, "cost": 0.0}
    with monkeypatch.context() as patched:
        patched.setattr("cli.judging.carry_out_run", lambda *_: nothing)
        ask(*asked)
    engine = open_project(load_settings())
    with writing(engine) as session:
        (run,) = list_runs(session, kind=KIND)
        run.state = RunState.INTERRUPTED
        planned = set(session.execute(select(col(ModelCall.key))).scalars())
        for variant in session.execute(select(Variant)).scalars():  # changes the sample
            variant.random_key = 1 - variant.random_key
    assert ask(*asked)["done"] == 3
    with reading(engine) as session:
        judged = select(col(Variant.uid)).join(Opinion, col(Opinion.variant_id) == Variant.id)
        assert set(session.execute(judged).scalars()) == planned
        assert [found.id for found in list_runs(session, kind=KIND)] == [run.id]
    assert ask(*asked)["done"] == 3
    with reading(engine) as session:
        assert len(list_runs(session, kind=KIND)) == 2


def test_agreement_is_reported_for_each_type(serve_chat: Serve, variants: dict[str, str]) -> None:
    assert "No model has given an opinion yet." in show("review", "agreement")
    address, _ = serve_chat()
    ask("review", "judge", "--model", "fake", "--base-url", address)
    ask("review", "accept", variants["verbal"], "--reviewer", "Ada")
    ask("review", "reject", variants["word"], "--reviewer", "Ada")
    (found,) = ask("review", "agreement")["judges"]
    agreed = {
        "verbal": opinion_on(TEXTS["verbal"])["verdict"] == "accept",
        "word": opinion_on(TEXTS["word"])["verdict"] != "accept",
    }
    assert (found["name"], found["counts"], found["opinions"]) == (NAME, False, 7)
    assert {row["type_id"]: row["share"] for row in found["types"]} == {
        **{key: float(value) for key, value in agreed.items()},
        "all": sum(agreed.values()) / 2,
    }
    output = show("review", "agreement")
    assert "left out" in output and f"{100 * sum(agreed.values()) / 2:.1f}%" in output


@pytest.mark.usefixtures("variants")
def test_switched_on_it_counts(serve_chat: Serve) -> None:
    address, _ = serve_chat()
    ask("review", "judge", "--model", "fake", "--base-url", address)
    assert ask("settings", "set", f"counts.{NAME}", "on")["changed"]
    counts = ask("status")["variants"]
    for type_id, text in TEXTS.items():
        expected = "accepted" if opinion_on(text)["verdict"] == "accept" else "rejected"
        assert counts[type_id][expected] == 1


@pytest.mark.usefixtures("variants")
def test_unknown_names_give_one_sentence(home: Path) -> None:
    asked = ["review", "judge", "--model", "fake"]
    assert "variant type" in complaint(*asked, "--types", "verb")
    assert "from 1 to 1" in complaint(*asked, "--prompt", "7")
    assert "--status is not usable: it should be 'pending'" in complaint(*asked, "--status", "odd")
