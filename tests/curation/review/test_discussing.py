"""Marks for discussion: listed until lifted or settled, taken back, and without any say."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.discussing import is_marked, lift, mark, mark_events, open_marks
from curation.review.people.merging import merge
from curation.review.settling import shown_to_settle
from curation.review.shown_card import MAX_NOTE, shown
from curation.review.undo import Done
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import MarkKind, Reviewer, Status, Variant
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases


@pytest.fixture
def ada(engine: Engine) -> int:
    with writing(engine) as session:
        add_family(session)
        return person(session)


def bert_marks(engine: Engine, remark: str = "") -> int:
    with writing(engine) as session:
        bert = person(session, "Bert")
        mark(session, 1, reviewer_id=bert, remark=remark)
        return bert


def marked(engine: Engine) -> list[int]:
    with reading(engine) as session:
        return [found.variant_id for found in open_marks(session)]


def test_a_marked_card_is_listed_with_its_remark_and_decides_nothing(
    engine: Engine, ada: int
) -> None:
    bert_marks(engine, " <b>A hedge?</b>\n ")
    with reading(engine) as session:
        (found,) = open_marks(session)
        assert (found.variant_id, found.reviewer, found.remark) == (1, "Bert", "<b>A hedge?</b>")
        assert open_marks(session, 2) == [] and not is_marked(session, 2)
        assert open_marks(session, type_id="word") == [] == open_marks(session, source_id=99)
        variant = session.get_one(Variant, 1)
        assert (variant.status, variant.version) == (Status.PENDING, 1)


def test_anybody_lifts_a_mark_and_the_history_keeps_both(engine: Engine, ada: int) -> None:
    bert_marks(engine, "Why?")
    with writing(engine) as session:
        lift(session, 1, reviewer_id=ada)
    assert marked(engine) == []
    with reading(engine) as session:
        told = [(e.reviewer, e.kind, e.remark, e.undone) for e in mark_events(session, 1)]
    assert told == [("Bert", MarkKind.MARK, "Why?", False), ("Ada", MarkKind.LIFT, "", False)]
    bert_marks(engine)
    assert marked(engine) == [1]


def test_undo_takes_back_a_lift_and_then_what_came_before(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        actions.accept(session, shown(session.get_one(Variant, 2)), reviewer_id=ada)
        mark(session, 1, reviewer_id=ada)
        lift(session, 1, reviewer_id=ada)
    done = []
    for expected in ([1], [], []):
        with writing(engine) as session:
            undone = actions.undo(session, reviewer_id=ada)
            assert undone is not None
            done.append(undone.done)
        assert marked(engine) == expected
    assert done == [Done.LIFT, Done.MARK, Done.ACCEPT]
    with writing(engine) as session:
        assert actions.undo(session, reviewer_id=ada) is None


def test_undo_passes_over_a_mark_that_somebody_else_has_lifted(engine: Engine, ada: int) -> None:
    bert = bert_marks(engine)
    with writing(engine) as session:
        lift(session, 1, reviewer_id=ada)
        assert actions.undo(session, reviewer_id=bert) is None


def test_a_settlement_ends_a_mark_until_it_is_taken_back(engine: Engine, ada: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        card = shown(session.get_one(Variant, 1))
        actions.accept(session, card, reviewer_id=ada)
        other = shown(session.get_one(Variant, 1))
        actions.reject(session, other, reviewer_id=bert, reason="wrong_scope")
        mark(session, 1, reviewer_id=bert)
    assert marked(engine) == [1]
    with writing(engine) as session:
        card = shown_to_settle(session, session.get_one(Variant, 1).uid)
        actions.accept(session, card, reviewer_id=ada)
    assert marked(engine) == []
    with writing(engine) as session:
        actions.undo(session, reviewer_id=ada)
    assert marked(engine) == [1]


def test_a_merged_persons_mark_is_the_others(engine: Engine, ada: int) -> None:
    bert = bert_marks(engine)
    with writing(engine) as session:
        merge(session, session.get_one(Reviewer, bert), session.get_one(Reviewer, ada))
    with writing(engine) as session:
        assert [found.reviewer for found in open_marks(session)] == ["Ada"]
        assert actions.undo(session, reviewer_id=ada) is not None
    assert marked(engine) == []


@one_database
def test_what_cannot_be_done_is_said_and_changes_nothing(engine: Engine, ada: int) -> None:
    with pytest.raises(HedgerowError, match="no mark to remove"), writing(engine) as session:
        lift(session, 1, reviewer_id=ada)
    with pytest.raises(HedgerowError, match="at most 2000"), writing(engine) as session:
        mark(session, 1, reviewer_id=ada, remark="x" * (MAX_NOTE + 1))
    bert_marks(engine)
    with pytest.raises(HedgerowError, match="Bert has already marked"), writing(engine) as session:
        mark(session, 1, reviewer_id=ada)
    assert marked(engine) == [1]


@pytest.mark.parametrize(
    "statement", ["UPDATE discuss_mark SET remark = 'x'", "DELETE FROM discuss_mark"]
)
def test_marks_are_append_only(engine: Engine, ada: int, statement: str) -> None:
    bert_marks(engine)
    with (
        pytest.raises(DBAPIError, match="append-only"),
        Session(engine.execution_options(writes=True)) as session,
    ):
        session.execute(text(statement))
