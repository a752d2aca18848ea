"""The preview of the next release matches its contents, however they are counted."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor, restore_anchor, retire_anchor
from curation.release.contents import contents_of, triples_by_type
from curation.release.freezing import create_release
from curation.release.upcoming import contents_now
from curation.review import actions
from db.engine import writing
from db.models import Anchor, AnchorRevision
from tests.curation.support.deciding import MOMENT, Released, accept, card, edit, reject
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, person

pytestmark = both_databases


def test_variants_made_for_two_wordings_of_an_anchor_meet_under_the_current_one(
    engine: Engine,
) -> None:
    with writing(engine) as session:
        ada, family = person(session), add_family(session)
        anchor = session.get_one(Anchor, 1)
        session.add(AnchorRevision(anchor_id=1, revision=2, text="It is safe.", text_uid="x"))
        anchor.revision = family["word"].anchor_revision = 2
        session.flush()
        accept(session, family["word"], ada)
        accept(session, family["verbal"], ada)
        assert contents_now(session).triples == 1
        release, _ = create_release(session)
        assert triples_by_type(session, release) == {"word": 1, "verbal": 1}


def test_the_preview_of_a_release_equals_its_content(released: Released) -> None:
    engine, families, release = released
    with writing(engine) as session:
        assert contents_now(session) == contents_of(release)
        accept(session, families[2]["verbal"], person(session))
        session.get_one(Anchor, families[4]["verbal"].anchor_id).retired_at = MOMENT
        session.flush()
        before = contents_now(session)
        newer, created = create_release(session)
        assert created
        assert before == contents_of(newer)
        assert before.variants == release.summary["variants"] + 1 - 6


def test_incremental_counts_of_a_large_release_equal_full_counts(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, families, release = released

    def agreed(session: Session) -> None:
        counted = contents_now(session)
        with monkeypatch.context() as patch:
            patch.setattr("curation.release.upcoming.COUNTED_AGAIN", 0)
            patch.setattr("curation.release.upcoming._accepted_families", None)  # it is not called
            assert contents_now(session) == counted

    with writing(engine) as session:
        ada = person(session)
        agreed(session)
        accept(session, families[1]["verbal"], ada)
        reject(session, families[0]["lexical"], ada)
        agreed(session)
        edit(session, families[0]["word"], ada, "The bridge seems safe.")
        actions.edit(
            session, card(session, families[3]["verbal"]), reviewer_id=ada, type_id="lexical"
        )
        agreed(session)
        for variant in families[6].values():
            reject(session, variant, ada)
        retire_anchor(session, families[9]["word"].anchor_id)
        agreed(session)
        correct_anchor(
            session,
            families[5]["word"].anchor_id,
            "It is safe.",
            reviewer_id=ada,
            expected_revision=1,
        )
        agreed(session)
        assert contents_now(session).anchors == release.summary["anchors"] - 3


@one_database
def test_a_restored_anchor_is_part_of_what_would_be_frozen(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, families, release = released
    monkeypatch.setattr("curation.release.upcoming.COUNTED_AGAIN", 0)
    with writing(engine) as session:
        retire_anchor(session, families[0]["word"].anchor_id)
        create_release(session)
        restore_anchor(session, families[0]["word"].anchor_id)
        assert contents_now(session) == contents_of(release)


@one_database
def test_nothing_accepted_would_freeze_nothing(engine: Engine) -> None:
    with writing(engine) as session:
        add_family(session)
        assert contents_now(session) == (0, 0, 0, {}, {})
