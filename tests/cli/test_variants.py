"""hedgerow variants add: a mapping, a dry run, and an import as a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cli
from curation.decisions.notes import add_note
from curation.diagnostics import measuring
from curation.overview.project_settings import open_project
from db.engine import reading, writing
from db.models import RunState, Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.cli.commands import add_small_project, ask, complaint, show
from tests.support.factories import add_anchor, add_variant, person

TABLE = (
    "sentence;negated;fine?\n"
    "The bridge is safe.;The bridge is not safe.;good\n"
    "The ferry is late.;The ferry is not late.;odd\n"
    "The kiln is hot.;The kiln is hardly hot.;\n"
    ";Nothing is hot.;\n"
)
MAPPED = ("--map", "sentence=anchor", "--map", "fine?=verdict", "--verdict", "odd=reject")


@pytest.fixture
def file(opened_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A CSV file in an empty project. No measuring process is started."""
    monkeypatch.setattr(measuring, "start_process", lambda *_: None)
    path = opened_home / "mine.csv"
    path.write_text(TABLE, "utf-8")
    return str(path)


def counts() -> dict[str, Any]:
    status = ask("status")
    by_type = status["variants"]
    return {"anchors": status["anchors"]} | {t: n for t, n in by_type.items() if any(n.values())}


def test_a_table_is_imported_by_a_mapping(file: str) -> None:
    answer = ask("variants", "add", file, *MAPPED, "--reviewer", "Ada", "--licence", "CC0")
    assert answer["state"] == "done"
    assert (answer["anchors"], answer["variants"], answer["decisions"]) == (2, 2, 2)
    assert answer["types"] == {"verbal": 2}
    assert answer["verdicts"] == {"Ada": 2}
    assert answer["columns"] == {
        "sentence": "anchor",
        "negated": "negation",
        "fine?": "verdict",
    }
    assert answer["left_out"] == {"no_anchor": 1, "undecided": 1}
    assert answer["places"] == {
        "no_anchor": "line 5 of mine.csv",
        "undecided": "line 4 of mine.csv",
    }
    verbal = counts()["verbal"]
    assert (verbal["accepted"], verbal["rejected"], verbal["pending"]) == (1, 1, 0)
    undone = ask("review", "undo", "--reviewer", "Ada")
    assert counts()["verbal"]["pending"] == 2
    assert undone


def test_a_dry_run_says_what_would_be_added_and_stores_nothing(file: str, home: Path) -> None:
    output = show("variants", "add", file, *MAPPED, "--reviewer", "Ada", "--dry-run")
    assert "Would add 2 anchors, 2 variants and 2 verdicts." in output
    assert "rows without an anchor" in output and "line 5 of mine.csv" in output
    assert counts() == {"anchors": 0}
    assert ask("runs", "list")["runs"] == []
    assert not list(home.rglob("*.sqlite"))


def test_undecided_ones_take_the_type_that_is_named(file: str) -> None:
    options = ("--undecided", "free_contradiction", "--accept", "--map", "fine?=ignore")
    answer = ask("variants", "add", file, "--map", "sentence=anchor", *options)
    assert answer["types"] == {"verbal": 2, "free_contradiction": 1}
    assert answer["verdicts"] == {"data set labels": 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--map", "sentence=ignore"), "Expected a column of anchors in mine.csv"),
        (("--map", "sentence=anchor", "--map", "nothing=text"), "Expected a column 'nothing'"),
        (("--map", "sentence=subject"), "Expected a role (anchor, text"),
        ((*MAPPED[:4],), "Expected a verdict (accept or reject) in 'fine?', found 'odd' on line 3"),
        (MAPPED, "has 2 verdicts without a reviewer name"),
        ((*MAPPED, "--verdict", "odd"), "Expected VALUE=accept, VALUE=reject or VALUE=none"),
        ((*MAPPED, "--undecided", "sarcastic"), "Expected a type of hedges, paraphrases or negat"),
        (
            (*MAPPED, "--undecided", "verbal", "--undecided", "lexical"),
            "Expected one type for each negation of unknown type",
        ),
        ((*MAPPED, "--reviewer", "Ada", "--language", "??"), "Expected a language"),
    ],
)
def test_wrong_input_gives_one_sentence_and_changes_nothing(
    file: str, arguments: tuple[str, ...], words: str
) -> None:
    assert words in complaint("variants", "add", file, *arguments)
    assert counts() == {"anchors": 0}
    assert ask("runs", "list")["runs"] == []


@pytest.fixture
def uid(opened_home: object) -> str:
    """The uid of one of three variants, each with its own anchor."""
    engine = open_project(load_settings())
    texts = ["The door is not open.", "The doors are not open.", "My uncle never baked bread."]
    with writing(engine) as session:
        for number, text in enumerate(texts):
            add_variant(session, add_anchor(session, f"Claim {number}."), text=text)
    with reading(engine) as session:
        first = session.get_one(Variant, 1).uid
    engine.dispose()
    return first


def test_the_most_similar_variants_come_first(uid: str) -> None:
    found = ask("variants", "similar", uid)
    assert found["variant"] == uid
    assert [row["text"] for row in found["similar"]] == [
        "The doors are not open.",
        "My uncle never baked bread.",
    ]
    assert found["similar"][0]["cosine"] > 0.8
    assert found["similar"][0]["status"] == "pending"
    assert len(ask("variants", "similar", uid, "--limit", "1")["similar"]) == 1
    assert "The doors are not open." in show("variants", "similar", uid)


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


@pytest.fixture
def empty_project(home: Path) -> None:
    ask("init", "--empty")


def ids(*options: str) -> list[str]:
    return [entry["id"] for entry in ask("types", "list", *options)["types"]]


@pytest.mark.usefixtures("empty_project")
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


@pytest.mark.usefixtures("empty_project")
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


@pytest.mark.usefixtures("empty_project")
def test_retiring_and_restoring_can_be_repeated() -> None:
    ask(*ADD)
    for command, retired in (("retire", True), ("restore", False)):
        for changed in (True, False):
            answer = ask("types", command, "quantifier_negation")
            assert answer == {"type": "quantifier_negation", "retired": retired, "changed": changed}
        assert ("quantifier_negation" in ids()) is not retired
        assert "quantifier_negation" in ids("--retired")


@pytest.mark.usefixtures("empty_project")
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


@pytest.fixture
def small_project(opened_home: object) -> None:
    """An anchor with two variants, one of them with a note."""
    add_small_project()
    engine = open_project(load_settings())
    with writing(engine) as session:
        add_note(session, 1, reviewer_id=person(session), text="Which DOOR is it?")
    engine.dispose()


@pytest.mark.usefixtures("small_project")
def test_a_search_covers_three_kinds_and_can_be_narrowed_and_limited() -> None:
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
    found = ask("search", "door", "--in", "variants", "--limit", "1")
    assert "anchors" not in found and "notes" not in found
    assert (found["variants"]["total"], len(found["variants"]["hits"])) == (2, 1)
    printed = show("search", "door", "--limit", "1")
    assert "2 variants contain it. Showing the first 1." in printed


def add_planted() -> None:
    """Twenty anchors. "admittedly" begins each lexical negation, and no paraphrase."""
    engine = open_project(load_settings())
    with writing(engine) as session:
        for number in range(20):
            anchor = add_anchor(session, f"Bridge {number} is safe.")
            add_variant(session, anchor, "lexical", f"Admittedly, bridge {number} looks safe.")
            add_variant(session, anchor, "affirmation", f"Bridge {number} looks safe.")
    engine.dispose()


def test_it_searches_once_and_again_when_the_data_has_changed() -> None:
    add_planted()
    first = ask("giveaways")
    assert (first["run"], first["records"], first["anchors"]) == (1, 40, 20)
    guess = first["guesses"]["polarity"]
    assert (guess["total"]["accuracy"], guess["total"]["chance"]) == (1, 0.5)
    assert [row["text"] for row in guess["telling"]["negative"]] == ["admittedly"]
    assert ask("giveaways") == first
    engine = open_project(load_settings())
    with writing(engine) as session:
        variant = session.get(Variant, 1)
        assert variant is not None
        variant.status = Status.REJECTED
    assert (changed := ask("giveaways"))["run"] == 2
    assert changed["records"] == 39
    assert ask("giveaways", "--again")["run"] == 3


def test_people_get_sentences_and_tables() -> None:
    add_planted()
    shown = show("giveaways")
    assert "Run 1: 40 variants of 20 anchors, accepted or pending" in shown
    assert "Accuracy for the polarity: 100.0%" in shown
    assert "admittedly" in shown and "affirmation" in shown


def test_a_run_that_waits_is_carried_out_and_summed_up() -> None:
    add_planted()
    engine = open_project(load_settings())
    with writing(engine) as session:
        create_run(session, kind="giveaways", parameters={})
    shown = show("run", "1")
    assert "the polarity is guessed correctly in 100% of cases (chance: 50%)" in shown
    assert "For details, run 'hedgerow giveaways'." in shown


def test_too_little_is_refused_and_a_run_at_work_is_named() -> None:
    add_small_project()
    assert "at least 5 anchors and two types, found 1 and 1" in complaint("giveaways")
    engine = open_project(load_settings())
    with writing(engine) as session:
        run = create_run(session, kind="giveaways", parameters={})
        run.sqlmodel_update({"state": RunState.RUNNING, "pid": 7, "host": "elsewhere"})
    assert "(Find giveaways) is running in process 7 on elsewhere" in complaint("giveaways")


def test_one_source_can_be_examined_alone() -> None:
    add_planted()
    engine = open_project(load_settings())
    with writing(engine) as session:
        anchor = add_anchor(session, "The door is open.", source="Other")
        add_variant(session, anchor, "word", "Perhaps the door is open.")
    assert ask("giveaways")["records"] == 41
    part = ask("giveaways", "--source", "test")
    assert (part["run"], part["records"], part["source"]) == (2, 40, "test")
    assert "Run 2: 40 variants of 20 anchors (test)" in show("giveaways", "--source", "test")
    assert ask("giveaways")["run"] == 1  # the stored result for all sources is still shown
    assert "(Other, test), found Nowhere" in complaint("giveaways", "--source", "Nowhere")
