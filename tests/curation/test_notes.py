"""Notes: kept in order with who wrote them, and without any say in the status."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session

from curation.notes import add_note, count_notes, notes
from curation.showing import MAX_NOTE
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant
from tests.databases import one_database
from tests.factories import add_family, person


@pytest.fixture
def ada(engine: Engine) -> int:
    with writing(engine) as session:
        add_family(session)
        return person(session)


def test_notes_are_told_in_order_and_decide_nothing(engine: Engine, ada: int) -> None:
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
def test_a_note_that_is_none_is_refused(engine: Engine, ada: int, wrong: str) -> None:
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
