"""`hedgerow giveaways`: searches once, shows the stored result, and searches again after
changes."""

from curation.project.opening import open_project
from db.engine import writing
from db.models import RunState, Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.cli.support.commands import add_small_project, ask, complaint, show
from tests.support.factories import add_anchor, add_variant


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
    assert "is already searching for giveaways (process 7 on elsewhere)" in complaint("giveaways")


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
