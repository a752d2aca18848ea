"""The audit contains every action of people once, newest first, page by page."""

import pytest
from sqlalchemy import Engine

from curation.anchors.changes import correct_anchor
from curation.release.freezing import create_release
from curation.review import actions
from curation.review.actions import shown
from curation.review.audit.entries import Filters, Kind
from curation.review.audit.reading import Page, entries, page
from curation.review.discussing import mark
from curation.review.notes import add_note
from curation.review.settling import shown_to_settle
from db.columns import now
from db.engine import reading, writing
from db.models import Variant
from tests.curation.support.deciding import MOMENT, accept, edit, reject
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

pytestmark = both_databases


@pytest.fixture
def audited(engine: Engine) -> tuple[Engine, dict[str, int]]:
    """A project with all kinds of actions except rules. Ids by name."""
    with writing(engine) as session:
        ada, bea = person(session, "Ada"), person(session, "Bea")
        family = add_family(session)
        accept(session, family["verbal"], ada)
        actions.undo(session, reviewer_id=ada)
        accept(session, family["word"], ada)
        blind = shown(session.get_one(Variant, family["word"].id), at=MOMENT, blind=True)
        actions.reject(session, blind, reviewer_id=bea, reason="wrong_type")
        settling = shown_to_settle(session, family["word"].uid)
        actions.accept(session, settling, reviewer_id=bea)
        edit(session, family["phrase"], ada, "I'm not wholly sure, but the bridge seems safe.")
        reject(session, family["lexical"], ada)
        mark(session, family["lexical"].id, reviewer_id=ada, remark="Ask Bea")
        add_note(session, family["lexical"].id, reviewer_id=bea, text="=1+1 odd")
        create_release(session, name="first", author_id=ada)
        other = add_family(session, "Door 2 is safe.", subject="door")
        anchor = other["word"].anchor_id
        correct_anchor(session, anchor, "Door 2 is secure.", reviewer_id=bea, expected_revision=1)
    return engine, {"ada": ada, "bea": bea}


def found(engine: Engine, wanted: Filters, limit: int = 100) -> Page:
    with reading(engine) as session:
        return page(session, wanted, limit=limit)


def test_everything_is_in_it_the_newest_first(audited: tuple[Engine, dict[str, int]]) -> None:
    engine, _ = audited
    all_of_it = found(engine, Filters()).entries
    kinds = [entry.kind for entry in all_of_it]
    assert kinds[:3] == [Kind.CORRECTION, Kind.RELEASE, Kind.NOTE]
    assert set(kinds) == set(Kind) - {Kind.RULE}
    assert [entry.at for entry in all_of_it] == sorted(
        (entry.at for entry in all_of_it), reverse=True
    )
    correction, release, note = all_of_it[:3]
    assert (correction.who, correction.detail, correction.text) == (
        "Bea",
        "was: Door 2 is safe.",
        "Door 2 is secure.",
    )
    assert (release.who, release.detail) == ("Ada", "release 1: first")
    assert (note.who, note.detail, note.text) == ("Bea", "=1+1 odd", "The bridge is dangerous.")
    marked = all_of_it[3]
    assert (marked.who, marked.kind, marked.detail) == ("Ada", Kind.DISCUSS, "mark; Ask Bea")
    settled = next(entry for entry in all_of_it if entry.kind is Kind.SETTLE)
    assert (settled.who, settled.detail) == ("Bea", "accept")
    refused = next(entry for entry in all_of_it if entry.kind is Kind.REJECT)
    assert refused.detail == "wrong type"
    undo = next(entry for entry in all_of_it if entry.kind is Kind.UNDO)
    assert (undo.detail, undo.text) == ("accept", "The bridge is not safe.")


def test_pages_hold_each_entry_once(audited: tuple[Engine, dict[str, int]]) -> None:
    engine, _ = audited
    whole = found(engine, Filters())
    assert whole.older is None
    with reading(engine) as session:
        assert list(entries(session, Filters())) == whole.entries
        first = page(session, Filters(), limit=4)
        paged = list(first.entries)
        while first.older is not None:
            first = page(session, Filters(), start=first.older, limit=4)
            assert first.entries
            paged += first.entries
    assert paged == whole.entries


def test_filters_keep_the_rows_they_describe(audited: tuple[Engine, dict[str, int]]) -> None:
    engine, ids = audited
    whole = found(engine, Filters()).entries
    for kind in Kind:
        its = [entry for entry in whole if entry.kind is kind]
        assert found(engine, Filters(kind=kind)).entries == its
    for name, number in ids.items():
        its = [entry for entry in whole if entry.who.lower() == name]
        assert found(engine, Filters(reviewer_id=number)).entries == its
    of_type = found(engine, Filters(type_id="word")).entries
    assert of_type == [entry for entry in whole if entry.type_id == "word"]
    assert len(of_type) == 3
    texts = found(engine, Filters(text="dangerous")).entries
    assert [entry.kind for entry in texts] == [
        Kind.NOTE,
        Kind.DISCUSS,
        Kind.REJECT,
    ]
    assert [entry.kind for entry in found(engine, Filters(text="secure")).entries] == [
        Kind.CORRECTION
    ]
    assert found(engine, Filters(source_id=999)).entries == []


def test_a_period_begins_and_ends(audited: tuple[Engine, dict[str, int]]) -> None:
    engine, _ = audited
    whole = found(engine, Filters()).entries
    middle = whole[len(whole) // 2].at
    newer, older = Filters(since=middle), Filters(until=middle)
    assert found(engine, newer).entries == [entry for entry in whole if entry.at >= middle]
    assert found(engine, older).entries == [entry for entry in whole if entry.at < middle]
    assert found(engine, Filters(since=now())).entries == []
