"""The audit contains every action of people once, newest first, page by page."""

from itertools import pairwise

import pytest

from curation.release.freezing import create_release
from curation.review.audit.entries import Entry, Filters, Kind
from curation.review.audit.reading import entries, page
from curation.review.discussing import mark
from curation.review.notes import add_note
from db.columns import now
from tests.curation.review.desk import LEXICAL, PHRASE, VERBAL, WORD, Desk, E, R
from tests.support.databases import both_databases

pytestmark = both_databases


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
    desk.write(create_release, name="first", author_id=ada)
    desk.correct(desk.family("Door 2 is safe.", subject="door")["word"], "Door 2 is secure.")
    return desk


def found(desk: Desk, **wanted: object) -> list[Entry]:
    return list(desk.read(page, Filters(**wanted), limit=100).entries)  # type: ignore[arg-type]


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


@pytest.mark.slow
def test_a_period_begins_and_ends(audited: Desk) -> None:
    whole = found(audited)
    middle = whole[len(whole) // 2].at
    assert found(audited, since=middle) == [one for one in whole if one.at >= middle]
    assert found(audited, until=middle) == [one for one in whole if one.at < middle]
    assert found(audited, since=now()) == []
