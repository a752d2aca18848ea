"""Notes: kept in order with their writers, and without an effect on the status."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.cards import card
from curation.review.notes import add_note, count_notes, notes, removed_notes
from curation.review.shown_card import MAX_NOTE
from curation.review.undo import Done
from curation.variants.own import write_variant
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases


@pytest.fixture
def ada(engine: Engine) -> int:
    with writing(engine) as session:
        add_family(session)
        return person(session)


def test_notes_are_reported_in_order_and_decide_nothing(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        add_note(session, 1, reviewer_id=ada, text=" Is this  really\nabsolute? \n")
        add_note(session, 1, reviewer_id=bert, text="<b>Yes</b>")
        add_note(session, 2, reviewer_id=ada, text="Elsewhere.")
    with reading(engine) as session:
        found = [(note.reviewer, note.text) for note in notes(session, 1)]
        assert found == [("Ada", "Is this really\nabsolute?"), ("Bert", "<b>Yes</b>")]
        assert [count_notes(session, variant_id) for variant_id in (1, 2, 3)] == [2, 1, 0]
        variant = session.get_one(Variant, 1)
        assert (variant.status, variant.version) == (Status.PENDING, 1)


@one_database
@pytest.mark.parametrize("wrong", ["", " \n ", "x" * (MAX_NOTE + 1), "bell \x07"])
def test_an_empty_note_is_refused(engine: Engine, ada: int, wrong: str) -> None:
    with pytest.raises(HedgerowError, match="Expected"), writing(engine) as session:
        add_note(session, 1, reviewer_id=ada, text=wrong)
    with reading(engine) as session:
        assert count_notes(session, 1) == 0


@pytest.mark.parametrize("statement", ["UPDATE note SET text = 'x'", "DELETE FROM note"])
def test_notes_are_append_only(engine: Engine, ada: int, statement: str) -> None:
    with writing(engine) as session:
        add_note(session, 1, reviewer_id=ada, text="Kept.")
    with (
        pytest.raises(DBAPIError, match="append-only"),
        Session(engine.execution_options(writes=True)) as session,
    ):
        session.execute(text(statement))


@pytest.mark.parametrize(
    "statement", ["UPDATE note_retraction SET note_id = 1", "DELETE FROM note_retraction"]
)
def test_an_undone_note_stays_undone(engine: Engine, ada: int, statement: str) -> None:
    with writing(engine) as session:
        add_note(session, 1, reviewer_id=ada, text="Gone.")
        actions.undo(session, reviewer_id=ada)
    with (
        pytest.raises(DBAPIError, match="append-only"),
        Session(engine.execution_options(writes=True)) as session,
    ):
        session.execute(text(statement))


def test_an_undone_note_leaves_card_and_count_but_not_the_history(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        add_note(session, 1, reviewer_id=ada, text="Stays.")
        add_note(session, 1, reviewer_id=ada, text="Goes.")
        add_note(session, 1, reviewer_id=bert, text="Another's.")
        undone = actions.undo(session, reviewer_id=ada)
        assert undone is not None and (undone.variant_id, undone.done) == (1, Done.NOTE)
        assert str(undone) == f"Note on “{session.get_one(Variant, 1).text}” removed."
    with reading(engine) as session:
        assert [note.text for note in notes(session, 1)] == ["Stays.", "Another's."]
        assert count_notes(session, 1) == card(session, 1).notes == 2
        assert [(note.reviewer, note.text) for note in removed_notes(session, 1)] == [
            ("Ada", "Goes.")
        ]


def test_undo_goes_back_through_notes_and_decisions_by_time(engine: Engine, ada: int) -> None:
    done: list[str] = []
    with writing(engine) as session:
        actions.accept(session, actions.shown(session.get_one(Variant, 1)), reviewer_id=ada)
        add_note(session, 2, reviewer_id=ada, text="First.")
        actions.edit(
            session,
            actions.shown(session.get_one(Variant, 3)),
            reviewer_id=ada,
            text="It is unwell.",
        )
        add_note(session, 3, reviewer_id=ada, text="Second.")
        card_ = actions.shown(session.get_one(Variant, 4))
        actions.edit(session, card_, reviewer_id=ada, type_id="affixal")
        hedge = actions.shown(session.get_one(Variant, 5))
        actions.edit(session, hedge, reviewer_id=ada, cue="safe")
        write_variant(
            session, anchor_id=1, type_id="verbal", text="The bridge isn't safe.", reviewer_id=ada
        )
        actions.reject_family(session, actions.shown(session.get_one(Variant, 1)), reviewer_id=ada)
    with writing(engine) as session:
        while (undone := actions.undo(session, reviewer_id=ada)) is not None:
            done.append(str(undone))
    assert done[0].startswith("Rejection and ")
    assert done[1:] == [
        "Acceptance of your own variant undone.",
        "Cue correction undone. Press E on the Review page to get back what you entered.",
        "Change of type undone.",
        "Note on “The bridge is unsafe.” removed.",
        "Edit undone. Press E on the Review page to get back what you entered.",
        "Note on “No part of the bridge is safe.” removed.",
        "Acceptance undone.",
    ]
    with reading(engine) as session:
        assert session.get_one(Variant, 1).status == Status.PENDING


def test_undo_leaves_what_was_done_before_a_moment(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        add_note(session, 1, reviewer_id=ada, text="Early.")
        early = now()
        assert actions.undo(session, reviewer_id=ada, after=early) is None
        actions.accept(session, actions.shown(session.get_one(Variant, 1)), reviewer_id=ada)
        undone = actions.undo(session, reviewer_id=ada, after=early)
        assert undone is not None and undone.done is Done.ACCEPT
        assert count_notes(session, 1) == 1
