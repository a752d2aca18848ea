"""Changes since a release: newly accepted variants, and variants that are no longer accepted."""

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor, restore_anchor, retire_anchor
from curation.release.contents import LAST_DECISION, changes_since, touched_since
from curation.release.freezing import create_release
from curation.review import actions
from db.engine import writing
from db.models import Release, Variant
from tests.curation.support.deciding import Released, accept, edit, reject
from tests.support.databases import both_databases, one_database
from tests.support.factories import TEXTS, person

pytestmark = both_databases


def aged(session: Session, release: Release) -> Release:
    """The release as an earlier version of Hedgerow would have created it an hour later."""
    found = session.get_one(Release, release.id)
    session.expunge(found)
    found.created_at += timedelta(hours=1)
    found.summary = {key: of for key, of in found.summary.items() if key != LAST_DECISION}
    return found


def test_changes_are_what_became_accepted_and_what_no_longer_is(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        assert changes_since(session, release) == ({}, {})
        accept(session, families[1]["verbal"], ada)  # new
        edit(session, families[0]["word"], ada, "The bridge seems safe.")  # one gone, one new
        reject(session, families[0]["lexical"], ada)  # gone
        reject(session, families[2]["verbal"], ada)  # it never was in the release
        added, gone = changes_since(session, release)
        assert added == {"verbal": 1, "word": 1}
        assert gone == {"word": 1, "lexical": 1}


@one_database
def test_an_undone_action_is_not_a_change(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        accept(session, families[1]["verbal"], ada)
        edit(session, families[0]["word"], ada, "The bridge seems safe.")
        actions.undo(session, reviewer_id=ada)
        actions.undo(session, reviewer_id=ada)
        assert changes_since(session, release) == ({}, {})


def test_decisions_long_before_the_release_are_not_examined(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        accept(session, families[1]["verbal"], ada)
        reject(session, families[0]["verbal"], ada)
        assert changes_since(session, aged(session, release)) == ({}, {})
        assert changes_since(session, release) == ({"verbal": 1}, {"verbal": 1})


def test_decisions_that_are_in_a_release_are_not_examined(released: Released) -> None:
    engine, families, _ = released
    with writing(engine) as session:
        ada = person(session)
        accept(session, families[1]["verbal"], ada)
        newer, _ = create_release(session)
        seen = session.execute(select(touched_since(session, newer))).scalars().all()
        accept(session, families[2]["verbal"], ada)
        after = session.execute(select(touched_since(session, newer))).scalars().all()
    # On PostgreSQL, those of the last minute are included, because others may have stored some.
    assert bool(seen) == (engine.name == "postgresql")
    assert families[2]["verbal"].id in after


def test_a_corrected_anchor_takes_its_variants_out_until_they_are_accepted_again(
    released: Released,
) -> None:
    engine, families, release = released
    with writing(engine) as session:
        ada = person(session)
        before = changes_since(session, release)
        correct_anchor(
            session,
            families[0]["word"].anchor_id,
            "It is safe.",
            reviewer_id=ada,
            expected_revision=1,
        )
        assert before == ({}, {})
        assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
        accept(session, families[0]["word"], ada)
        # With its new text, it is another row of the next release.
        assert changes_since(session, release) == ({"word": 1}, dict.fromkeys(TEXTS, 1))
        newer, created = create_release(session)
        assert created
        assert changes_since(session, newer) == ({}, {})


@one_database
def test_a_corrected_cue_is_a_change(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        card = actions.shown(session.get_one(Variant, families[0]["word"].id))
        actions.edit(session, card, reviewer_id=person(session), cue="likely")
        assert changes_since(session, release) == ({"word": 1}, {"word": 1})


def test_retired_anchors_disappear_and_restored_ones_appear(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        anchor_id = families[0]["word"].anchor_id
        retire_anchor(session, anchor_id)
        assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
        newer, _ = create_release(session)
        assert changes_since(session, newer) == ({}, {})
        restore_anchor(session, anchor_id)
        assert changes_since(session, newer) == (dict.fromkeys(TEXTS, 1), {})
        assert changes_since(session, release) == ({}, {})
