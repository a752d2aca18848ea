"""Reviewers on the command line."""

import csv
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlmodel import col
from typer.testing import CliRunner

import cli
import hedgerow
from cli.options import open_home
from curation.decisions.assignment import Plan
from curation.decisions.notes import add_note
from curation.overview.project_settings import open_project
from curation.project.settings import GOLD_RATE, PRACTISE_FIRST
from curation.review import deciding
from curation.review.calibration import figures
from curation.review.deciding import shown
from db.engine import writing
from db.models import Source, Variant
from db.settings import load_settings
from tests.cli.commands import add_small_project, ask, complaint, show
from tests.cli.test_review import pending
from tests.curation.support.deciding import accept, reject
from tests.support.factories import TEXTS, add_family, person
from tests.support.generating import Serve


@pytest.fixture
def uids(opened_home: object) -> list[str]:
    """The two variants of a small project. Ada rejects the first, which 'ada l.' has accepted."""
    found = add_small_project()
    ask("review", "accept", found[0], "--reviewer", "ada l.")
    ask("review", "reject", found[0], "--reviewer", "Ada", "--reason", "meaning_changed")
    return found


def names() -> list[str]:
    return [one["name"] for one in ask("reviewers", "list")["reviewers"]]


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
    assert "Ada Lovelace" in show("reviewers", "list")
    assert "is another reviewer" in complaint("reviewers", "rename", "ada l.", "ada lovelace")
    assert "There is no person 'Bo'" in complaint("reviewers", "rename", "Bo", "Bob")


def test_a_person_is_added_before_they_begin(uids: list[str]) -> None:
    assert ask("reviewers", "add", "Cy", "viewer") == {"name": "Cy", "role": "viewer"}
    roles = {one["name"]: one["role"] for one in ask("reviewers", "list")["reviewers"]}
    assert roles == {"ada l.": "lead", "Ada": "lead", "Cy": "viewer"}
    assert "The person 'cy' already exists" in complaint("reviewers", "add", "cy")
    assert show("reviewers", "add", "Bo") == "Added Bo as a lead.\n"
    assert ask("review", "quota", "Bo", "10")


def test_a_merge_lists_the_changes_asks_first_and_is_undone(uids: list[str]) -> None:
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
    assert show("reviewers", "separate", "ada l.") == "ada l. and Ada are two reviewers again.\n"
    assert "has not been merged" in complaint("reviewers", "separate", "Ada")


HOSTILE = "=1+1 <b>x</b>"


@pytest.fixture
def family() -> dict[str, str]:
    """Type → uid of a project with a variant of every type."""
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        return {type_id: variant.uid for type_id, variant in add_family(session).items()}


def decide(family: dict[str, str]) -> None:
    """Two people agree on two of four variants. A third decides on one alone."""
    for type_id in ("verbal", "word", "lexical", "affixal"):
        ask("review", "accept", family[type_id], "--reviewer", "Ada")
    for type_id in ("verbal", "word"):
        ask("review", "accept", family[type_id], "--reviewer", HOSTILE)
    for type_id in ("lexical", "affixal"):
        ask("review", "reject", family[type_id], "--reviewer", HOSTILE, "--note", "=No")
    ask("review", "accept", family["phrase"], "--reviewer", "Cleo")


def test_without_overlap_it_says_so(family: dict[str, str]) -> None:
    assert "No two people have decided on the same variant yet." in show("review", "agreement")
    found = ask("review", "agreement")
    assert found["judges"] == [] and found["people"]["variants"] == 0
    assert found["people"]["groups"] == [] and found["people"]["agreement"] is None


def test_people_are_compared_by_type_and_by_pair(family: dict[str, str]) -> None:
    decide(family)
    found = ask("review", "agreement")["people"]
    assert (found["variants"], found["verdicts"], found["accepted"]) == (4, 8, 0.75)
    assert found["agreement"] == 0.5 and found["agreement_low"] is None  # too few for an interval
    assert found["kappa"] == 0 and found["left_out"] == 0
    assert "Krippendorff" in found["meaning"][1]
    rows = {row["type"]: row["agreement"] for row in found["groups"]}
    assert rows == {"verbal": 1, "word": 1, "lexical": 0, "affixal": 0}
    (pair,) = ask("review", "agreement", "--by", "pair")["people"]["groups"]
    assert (pair["person"], pair["other"], pair["variants"]) == ("Ada", HOSTILE, 4)
    (cue,) = ask("review", "agreement", "--by", "cue")["people"]["groups"]
    assert cue["cue"] == "probably"
    output = show("review", "agreement", "--by", "source", "--source", "test")
    assert "4 variants with verdicts from several people:" in output and "50.0%  " in output


def test_the_verdicts_are_written_without_formulas(family: dict[str, str], tmp_path: Path) -> None:
    decide(family)
    file = tmp_path / "verdicts.csv"
    ask("review", "agreement", "--csv", str(file))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 8 and {row["reviewer"] for row in rows} == {"Ada", f"'{HOSTILE}"}
    assert {row["note"] for row in rows} == {"", "'=No"}
    assert {row["variant"] for row in rows} == {
        TEXTS[key] for key in ("verbal", "word", "lexical", "affixal")
    }


def test_python_has_the_same_figures(family: dict[str, str]) -> None:
    decide(family)
    project = hedgerow.open()
    found = project.agreement(by="type")
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    assert rows == ask("review", "agreement")["people"]["groups"]
    assert project.agreement()["alpha"].iloc[0] == ask("review", "agreement")["people"]["alpha"]
    assert list(project.agreement(by="pair").columns[:2]) == ["person", "other"]
    assert len(project.shared_verdicts()) == 8
    with pytest.raises(hedgerow.HedgerowError, match="Expected a grouping"):
        project.agreement(by="kind")
    with pytest.raises(hedgerow.HedgerowError, match="Expected a source with variants"):
        project.agreement(source="nowhere")


def test_an_assignment_is_set_shown_changed_and_ended(loaded_home: Path) -> None:
    assert show("review", "assign").strip() == "One person decides on each variant."
    answer = ask("review", "assign", "--reviewers", "3", "--share", "0.4")
    assert (answer["reviewers"], answer["share"]) == (3, 0.4)
    chosen = [uid for uid in pending(loaded_home) if Plan(3, 0.4).wanted(uid) == 3]
    assert answer["verdicts"]["verbal"] == [len(chosen), 0, 0, 0] and chosen
    ask("review", "accept", chosen[0], "--reviewer", "Ann")
    ask("review", "reject", chosen[0], "--reviewer", "Bo", "--reason", "wrong_scope")
    assert ask("review", "conflicts")["conflicts"] == []
    problem = complaint("review", "settle", chosen[0], "accept", "--reviewer", "Ann")
    assert "Not everybody assigned to" in problem
    answer = ask("review", "assign", "--reviewers", "2")
    assert (answer["reviewers"], answer["share"]) == (2, 0.4)
    assert answer["verdicts"]["verbal"] == [len(chosen) - 1, 0, 1]
    assert [one["uid"] for one in ask("review", "conflicts")["conflicts"]] == [chosen[0]]
    assert "2 to 5 reviewers" in complaint("review", "assign", "--reviewers", "1")
    assert "a share from 0 to 1" in complaint("review", "assign", "--share", "20")
    assert ask("review", "assign", "--share", "0")["verdicts"] == {}
    assert show("review", "assign").strip() == "One person decides on each variant."


def test_a_quota_is_set_counted_and_removed(loaded_home: Path) -> None:
    for uid in pending(loaded_home)[:2]:
        ask("review", "accept", uid, "--reviewer", "Ann")
    answer = ask("review", "quota", "ann", "10", "--type", "verbal")
    expected = {"reviewer": "Ann", "type": "verbal", "quota": 10, "done": 2}
    assert answer == {"quotas": [expected]}
    assert ask("review", "assign")["quotas"] == [expected]
    assert "10" in show("review", "assign")
    assert "There is no person" in complaint("review", "quota", "Nobody", "10")
    assert "no quota for all types" in complaint("review", "quota", "Ann", "--remove")
    assert "0 to" in complaint("review", "quota", "Ann", "--", "-1")
    assert ask("review", "quota", "Ann", "--type", "verbal", "--remove") == {"quotas": []}


def test_it_is_shown_narrowed_and_written_to_a_file(tmp_path: Path) -> None:
    ask("init", "--empty")
    assert show("audit") == "No actions found.\n"
    with writing(open_home().engine) as session:
        ada, bea = person(session, "Ada"), person(session, "Bea")
        family = add_family(session)
        accept(session, family["verbal"], ada)
        reject(session, family["word"], ada)
        add_note(session, family["word"].id, reviewer_id=bea, text="=1+1")
        uid = family["word"].uid
    found = ask("audit")["entries"]
    assert [(entry["reviewer"], entry["kind"]) for entry in found] == [
        ("Bea", "note"),
        ("Ada", "reject"),
        ("Ada", "accept"),
    ]
    assert found[1]["uid"] == uid and found[1]["detail"] == "wrong type"
    assert ask("audit", "--limit", "1") == {"entries": found[:1], "more": True}
    assert ask("audit", "--reviewer", "ada", "--since", "2020-01-01")["entries"] == found[1:]
    assert ask("audit", "--until", "2020-01-01")["entries"] == []
    assert (
        ask("audit", "--text", uid, "--action", "reject", "--type", "word")["entries"] == found[1:2]
    )
    assert "there are older ones" in show("audit", "--limit", "1")
    file = tmp_path / "audit.csv"
    show("audit", "--limit", "1", "--csv", str(file))
    lines = file.read_text("utf-8-sig").splitlines()
    assert lines[0] == "at,reviewer,kind,detail,uid,type,source,text"
    assert len(lines) == 1 + 3 and ",note,'=1+1," in lines[1]
    assert "There is no reviewer 'Cleo'" in complaint("audit", "--reviewer", "Cleo")


NAME = "judge: fake, prompt 1"
ACCEPT = "Verdict: accept\nReason: none\nComment: Yes.\nSuggestion: none\nCertainty: 0.75"


@pytest.fixture
def blind_families(home: Path) -> None:
    ask("init", "--empty")
    with writing(open_project(load_settings())) as session:
        session.add(Source(id=1, name="test"))
        session.flush()
        for number in range(10):
            add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")


def decide_blind(uids: list[str], rejected: int = 0) -> None:
    """Ada decides on these in the app's blind mode."""
    with writing(open_project(load_settings())) as session:
        ada = person(session)
        for number, uid in enumerate(uids):
            variant = session.execute(select(Variant).where(col(Variant.uid) == uid)).scalar_one()
            card = shown(variant, blind=True)
            if number < rejected:
                deciding.reject(session, card, reviewer_id=ada, reason="wrong_scope")
            else:
                deciding.accept(session, card, reviewer_id=ada)


@pytest.mark.usefixtures("blind_families")
def test_from_the_sample_to_the_rule_and_back(
    serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FEWEST", 8)
    sampled = ask("review", "calibration", "draw", "--size", "8", "--types", "verbal, word")
    sample, uids = str(sampled["sample"]), sampled["variants"]
    assert len(uids) == 16
    assert "No model has judged it yet." in show("review", "calibration", "show")
    address, server = serve_chat()
    server.says = lambda prompt: ACCEPT
    judge = ["review", "judge", "--model", "fake", "--base-url", address]
    assert ask(*judge, "--sample", sample)["done"] == 16
    decide_blind(uids, rejected=8)
    again = show(*judge, "--sample", sample, "--times", "2")
    assert "has judged variants 32 times (these answers do not count as opinions)" in again
    asked = ["review", "calibration", "apply", "--judge", NAME, "--reviewer", "Ada"]
    assert "No type qualifies for" in complaint(*asked)
    found = ask("review", "calibration", "show", sample, "--precision", "0.6")
    (one,) = found["judges"]
    rows = {row["type"]: row for row in one["types"]}
    assert (one["name"], one["judged"], one["recommended"]) == (NAME, 16, ["word"])
    assert rows["verbal"]["verdicts"] == [{"judge": "accept", "people": "reject", "items": 8}]
    assert rows["word"]["precision"]["value"] == 1.0 and rows["all"]["base_rate"] == 0.5
    assert one["calibration_error"] == pytest.approx(0.25)
    assert one["self_consistency"]["same"] == 1.0 and one["self_consistency"]["answers"] == 32
    output = show("review", "calibration", "show", "--precision", "0.6")
    assert f"{NAME}: accept without human review: word." in output
    assert ask(*judge, "--types", "word")["done"] == 2  # those outside the sample
    sure = [*asked, "--precision", "0.6"]
    planned = ask(*sure, "--dry-run")
    assert (planned["variants"], planned["types"], planned["action"]) == (2, ["word"], None)
    done = ask(*sure)
    assert done["by_type"] == {"word": 2} and done["action"]
    assert done["rule"] == f"accepted by {NAME}"
    assert ask("status")["variants"]["word"]["pending"] == 0
    ask("review", "undo", "--reviewer", "Ada")
    assert ask("status")["variants"]["word"]["pending"] == 2


@pytest.mark.usefixtures("blind_families")
def test_options_that_exclude_each_other_give_one_sentence() -> None:
    asked = ["review", "judge", "--model", "fake"]
    for wrong, sentence in (
        (["--times", "3"], "--times requires --sample"),
        (["--sample", "1", "--types", "verbal"], "cannot be combined with --types"),
    ):
        done = CliRunner().invoke(cli.app, [*asked, *wrong])
        assert done.exit_code == 2 and sentence in done.stderr
    assert "There is no run 7" in complaint(*asked, "--sample", "7")
    assert "no sample yet" in complaint("review", "calibration", "show")
    assert "variant type" in complaint("review", "calibration", "draw", "--types", "verb")
    assert "Expected the name of a judge" in complaint(
        "review", "calibration", "draw", "--judge", "[bold]x"
    )
    number = str(ask("review", "calibration", "draw", "--size", "1")["sample"])
    assert f"name of a judge of sample {number}" in complaint(
        "review", "calibration", "apply", "--judge", "x", "--reviewer", "Ada"
    )


@pytest.fixture
def gold_uids(opened_home: object) -> list[str]:
    """The two variants of a small project. Ada has accepted the first, and Ben has rejected it."""
    found = add_small_project()
    ask("review", "accept", found[0], "--reviewer", "Ada")
    ask("review", "reject", found[0], "--reviewer", "Ben", "--reason", "meaning_changed")
    return found


def add(uid: str, verdict: str, *more: str) -> dict[str, object]:
    return ask("review", "gold", "add", uid, verdict, "--reviewer", "Lena", *more)


def test_items_are_made_listed_and_removed(gold_uids: list[str]) -> None:
    why = "Both can be true."
    refused = complaint("review", "gold", "add", gold_uids[0], "reject", "--reviewer", "Lena")
    assert "Expected a reason for 'reject', found none" in refused
    made = add(gold_uids[0], "reject", "--reason", "wrong_scope", "--explanation", why)
    assert (made["verdict"], made["use"], made["explanation"]) == ("reject", "mixed", why)
    assert add(gold_uids[1], "accept", "--training")["use"] == "training"
    listed = ask("review", "gold", "list")["gold"]
    assert [one["uid"] for one in listed] == gold_uids and listed[0] == made
    shown = show("review", "gold", "list")
    assert why in shown and "practice rounds" in shown
    assert "does not show gold items yet" in shown
    ask("settings", "set", GOLD_RATE, "20")
    assert "does not show gold items yet" not in show("review", "gold", "list")
    assert ask("status")["variants"]["verbal"]["rejected"] == 1
    assert "is a gold item, which settles it" in complaint(
        "review", "settle", gold_uids[0], "accept", "--reviewer", "Lena"
    )
    assert "stays settled as rejected" in show("review", "gold", "remove", gold_uids[0])
    assert [one["uid"] for one in ask("review", "gold", "list")["gold"]] == gold_uids[1:]
    ask("review", "undo", "--reviewer", "Lena")
    assert show("review", "gold", "list").strip() == "There are no gold items yet."


def test_figures_of_people_as_a_table_json_and_a_file(gold_uids: list[str], tmp_path: Path) -> None:
    ask("review", "settle", gold_uids[0], "accept", "--reviewer", "Lena")
    ask("review", "accept", gold_uids[1], "--reviewer", "=1+1")
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
