"""Notes and “discuss” marks, which have no effect on the status; and the audit of all actions."""

from itertools import pairwise

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from curation.decisions.notes import add_note, count_notes, notes
from curation.decisions.shown_card import MAX_NOTE
from curation.editing.own_variants import write_variant
from curation.review import deciding
from curation.review.audit import Entry, Filters, Kind, entries, page
from curation.review.cards import card
from curation.review.discussing import is_marked, lift, mark, mark_events, open_marks
from curation.review.undo import Done
from db.columns import now
from db.models import MarkKind, Status
from tests.curation.review.desk import LEXICAL, PHRASE, VERBAL, WORD, Desk, E, R, refused
from tests.support.databases import both_databases
from tests.support.factories import freeze


def note(desk: Desk, who: str, variant_id: int, text: str) -> None:
    desk.write(add_note, variant_id, reviewer_id=desk.who(who), text=text)


def put_mark(desk: Desk, who: str, variant_id: int = VERBAL, remark: str = "") -> None:
    desk.write(mark, variant_id, reviewer_id=desk.who(who), remark=remark)


def take_off(desk: Desk, who: str = "Ada", variant_id: int = VERBAL) -> None:
    desk.write(lift, variant_id, reviewer_id=desk.who(who))


def marked(desk: Desk) -> list[int]:
    return [found.variant_id for found in desk.read(open_marks)]


def test_both_are_listed_in_order_and_decide_nothing(desk: Desk) -> None:
    note(desk, "Ada", VERBAL, " Is this  really\nabsolute? \n")
    note(desk, "Bert", VERBAL, "<b>Yes</b>")
    note(desk, "Ada", WORD, "Elsewhere.")
    found = [(one.reviewer, one.text) for one in desk.read(notes, VERBAL)]
    assert found == [("Ada", "Is this really\nabsolute?"), ("Bert", "<b>Yes</b>")]
    assert [desk.read(count_notes, key) for key in (VERBAL, WORD, LEXICAL)] == [2, 1, 0]
    put_mark(desk, "Bert", remark=" <b>A hedge?</b>\n ")
    (one,) = desk.read(open_marks)
    assert (one.variant_id, one.reviewer, one.remark) == (VERBAL, "Bert", "<b>A hedge?</b>")
    assert desk.read(open_marks, VERBAL) == [one] == desk.read(open_marks, type_id="verbal")
    assert [desk.read(is_marked, key) for key in (VERBAL, WORD)] == [True, False]
    for wanted in ({"variant_id": WORD}, {"type_id": "word"}, {"source_id": 99}):
        assert desk.read(open_marks, **wanted) == []
    assert (desk.status(VERBAL), desk.get(VERBAL).version) == (Status.PENDING, 1)


def test_impossible_notes_and_marks_are_refused(desk: Desk) -> None:
    for wrong in ("", " \n ", "x" * (MAX_NOTE + 1), "bell \x07"):
        with refused():
            note(desk, "Ada", VERBAL, wrong)
    assert desk.read(count_notes, VERBAL) == 0
    note(desk, "Ada", VERBAL, "x" * MAX_NOTE)
    with refused("no mark"):
        take_off(desk)
    with refused(str(MAX_NOTE)):
        put_mark(desk, "Ada", remark="x" * (MAX_NOTE + 1))
    put_mark(desk, "Bert", remark="x" * MAX_NOTE)
    with refused("Bert"):
        put_mark(desk, "Ada")
    assert marked(desk) == [VERBAL]


@both_databases
def test_the_database_only_lets_them_be_added(desk: Desk) -> None:
    note(desk, "Ada", VERBAL, "Gone.")
    desk.undo()
    put_mark(desk, "Bert")
    for statement in (
        "UPDATE note SET text = 'x'",
        "DELETE FROM note",
        "UPDATE note_retraction SET note_id = 1",
        "DELETE FROM note_retraction",
        "UPDATE discuss_mark SET remark = 'x'",
        "DELETE FROM discuss_mark",
    ):
        with (
            pytest.raises(DBAPIError, match="append-only"),
            Session(desk.engine.execution_options(writes=True)) as session,
        ):
            session.execute(text(statement))


def test_an_undone_note_leaves_card_and_count_but_not_the_history(desk: Desk) -> None:
    for who, what in (("Ada", "Stays."), ("Ada", "Goes."), ("Bert", "Another's.")):
        note(desk, who, VERBAL, what)
    undone = desk.undone()
    assert (undone.variant_id, undone.done) == (VERBAL, Done.NOTE)
    assert [one.text for one in desk.read(notes, VERBAL)] == ["Stays.", "Another's."]
    assert desk.read(count_notes, VERBAL) == desk.read(card, VERBAL).notes == 2
    assert desk.read(count_notes, VERBAL, reviewer_id=desk.who("Ada")) == 1
    (removed,) = desk.read(notes, VERBAL, removed=True)
    assert (removed.reviewer, removed.text) == ("Ada", "Goes.")


@pytest.mark.slow
@both_databases
def test_undo_goes_back_through_everything_by_time(desk: Desk) -> None:
    ada = desk.who("Ada")
    desk.decide("Ada", 1)
    note(desk, "Ada", 2, "First.")
    desk.decide("Ada", 3, E, text="It is unwell.")
    put_mark(desk, "Ada", 2)
    take_off(desk, "Ada", 2)
    desk.decide("Ada", 4, E, type_id="affixal")
    desk.decide("Ada", 5, E, cue="safe")
    own = {"anchor_id": 1, "type_id": "verbal", "text": "The bridge isn't safe."}
    desk.write(write_variant, **own, reviewer_id=ada)
    desk.write(deciding.reject_family, desk.card(1), reviewer_id=ada)
    undone, marks = [], []
    while (last := desk.undo()) is not None:
        undone.append(last)
        marks.append(marked(desk))
    family, *others = [(one.done, one.variants) for one in undone]
    assert family == (Done.REJECT, 8) and "7 more" in str(undone[0])
    drafts = {one.done for one in undone if "Press E" in str(one)}
    assert drafts == {Done.CUE, Done.EDIT}
    assert others == [
        (done, 1)
        for done in (
            Done.OWN,
            Done.CUE,
            Done.RETYPE,
            Done.LIFT,
            Done.MARK,
            Done.EDIT,
            Done.NOTE,
            Done.ACCEPT,
        )
    ]
    assert marks == [[]] * 4 + [[2]] + [[]] * 4
    assert (desk.status(1), desk.get(5).cue) == (Status.PENDING, "probably")


def test_undo_leaves_what_was_done_before_a_moment(desk: Desk) -> None:
    note(desk, "Ada", VERBAL, "Early.")
    early = now()
    assert desk.undo(after=early) is None
    desk.decide("Ada", VERBAL)
    undone = desk.undo(after=early)
    assert undone is not None and undone.done is Done.ACCEPT
    assert desk.read(count_notes, VERBAL) == 1


def test_anybody_lifts_a_mark_and_the_history_keeps_both(desk: Desk) -> None:
    put_mark(desk, "Bert", remark="Why?")
    take_off(desk)
    assert marked(desk) == [] and desk.undo("Bert") is None  # undo passes over a lifted mark
    events = [(e.reviewer, e.kind, e.remark, e.undone) for e in desk.read(mark_events, VERBAL)]
    assert events == [("Bert", MarkKind.MARK, "Why?", False), ("Ada", MarkKind.LIFT, "", False)]
    desk.undo()
    assert [e.undone for e in desk.read(mark_events, VERBAL)] == [False, True]
    take_off(desk)
    put_mark(desk, "Bert")
    assert marked(desk) == [VERBAL]


@both_databases
def test_a_settlement_ends_a_mark_until_it_is_undone(desk: Desk) -> None:
    desk.decide("Ada", VERBAL)
    desk.decide("Bert", VERBAL, R)
    put_mark(desk, "Bert")
    assert marked(desk) == [VERBAL]
    desk.settle("Ada", VERBAL)
    assert marked(desk) == []
    desk.undo()
    assert marked(desk) == [VERBAL]


def test_a_merged_persons_mark_is_the_others(desk: Desk) -> None:
    put_mark(desk, "Bert")
    desk.merge("Bert", into="Ada")
    assert [found.reviewer for found in desk.read(open_marks)] == ["Ada"]
    assert desk.undone().done is Done.MARK
    assert marked(desk) == []


@pytest.fixture
def audited(desk: Desk) -> Desk:
    """A project with all kinds of actions except rules."""
    ada, bea = desk.people("Ada", "Bea")
    desk.decide("Ada", VERBAL)
    desk.undo("Ada")
    desk.decide("Ada", WORD)
    desk.decide("Bea", WORD, R, blind=True)
    desk.settle("Bea", WORD)
    desk.decide("Ada", PHRASE, E)
    desk.decide("Ada", LEXICAL, R, reason="wrong_type")
    desk.write(mark, LEXICAL, reviewer_id=ada, remark="Ask Bea")
    desk.write(add_note, LEXICAL, reviewer_id=bea, text="=1+1 odd")
    desk.write(freeze, name="first", author_id=ada)
    desk.correct(desk.family("Door 2 is safe.", subject="door")["word"], "Door 2 is secure.")
    return desk


def found(desk: Desk, **wanted: object) -> list[Entry]:
    return list(desk.read(page, Filters(**wanted), limit=100).entries)  # type: ignore[arg-type]


@both_databases
@pytest.mark.slow
def test_everything_is_in_it_the_newest_first(audited: Desk) -> None:
    whole = found(audited)
    assert {one.kind for one in whole} == set(Kind) - {Kind.RULE}
    assert all(later.at >= earlier.at for later, earlier in pairwise(whole))
    assert [(one.kind, one.who, one.detail, one.text) for one in whole[:4]] == [
        (Kind.CORRECTION, "Ada", "was: Door 2 is safe.", "Door 2 is secure."),
        (Kind.RELEASE, "Ada", "release 1: first", ""),
        (Kind.NOTE, "Bea", "=1+1 odd", "The bridge is dangerous."),
        (Kind.DISCUSS, "Ada", "mark; Ask Bea", "The bridge is dangerous."),
    ]
    by_kind = {one.kind: one for one in reversed(whole)}
    settled, undone = by_kind[Kind.SETTLE], by_kind[Kind.UNDO]
    assert (settled.who, settled.detail) == ("Bea", "accept")
    assert (undone.detail, undone.text) == ("accept", "The bridge is not safe.")
    assert [one.detail for one in whole if one.kind is Kind.REJECT] == ["wrong type", "wrong scope"]


@both_databases
@pytest.mark.slow
def test_pages_hold_each_entry_once(audited: Desk) -> None:
    whole = audited.read(page, Filters(), limit=100)
    assert whole.older is None
    part = audited.read(page, Filters(), limit=4)
    paged = list(part.entries)
    while part.older is not None:
        part = audited.read(page, Filters(), start=part.older, limit=4)
        assert part.entries
        paged += part.entries
    every = audited.read(lambda session: list(entries(session, Filters())))
    assert paged == list(whole.entries) == every


@both_databases
@pytest.mark.slow
def test_filters_keep_the_rows_they_describe(audited: Desk) -> None:
    whole = found(audited)
    for kind in Kind:
        assert found(audited, kind=kind) == [one for one in whole if one.kind is kind]
    for name in ("Ada", "Bea"):
        its = [one for one in whole if one.who == name]
        assert found(audited, reviewer_id=audited.who(name)) == its
    of_type = found(audited, type_id="word")
    assert of_type == [one for one in whole if one.type_id == "word"] and len(of_type) == 3
    kinds = [one.kind for one in found(audited, text="dangerous")]
    assert kinds == [Kind.NOTE, Kind.DISCUSS, Kind.REJECT]
    assert [one.kind for one in found(audited, text="secure")] == [Kind.CORRECTION]
    assert found(audited, source_id=999) == []


@both_databases
@pytest.mark.slow
def test_a_period_begins_and_ends(audited: Desk) -> None:
    whole = found(audited)
    middle = whole[len(whole) // 2].at
    assert found(audited, since=middle) == [one for one in whole if one.at >= middle]
    assert found(audited, until=middle) == [one for one in whole if one.at < middle]
    assert found(audited, since=now()) == []
