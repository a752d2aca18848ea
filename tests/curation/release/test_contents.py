"""Changes since a release, and the preview of the next one, match what is frozen."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.editing.anchors import correct_anchor, restore_anchor, retire_anchor
from curation.release.contents import (
    LAST_DECISION,
    changes_since,
    contents_of,
    touched_since,
    triples_by_type,
)
from curation.release.upcoming import contents_now
from curation.review import deciding
from db.models import Anchor, AnchorRevision, Release, Variant
from tests.curation.support.deciding import Released, accept, card, edit, reject
from tests.support.databases import both_databases
from tests.support.factories import TEXTS, add_family, freeze, person


def aged(session: Session, release: Release) -> Release:
    """The release as an earlier version of Hedgerow would have created it an hour later."""
    found = session.get_one(Release, release.id)
    session.expunge(found)
    found.created_at += timedelta(hours=1)
    found.summary = {key: of for key, of in found.summary.items() if key != LAST_DECISION}
    return found


pytestmark = both_databases


def correct(session: Session, variant: Variant, who: int) -> None:
    """Correct the anchor of the variant."""
    anchor, new = variant.anchor_id, "It is safe."
    correct_anchor(session, anchor, new, reviewer_id=who, expected_revision=1)


@pytest.mark.slow
def test_changes_are_what_became_accepted_and_what_no_longer_is(released: Released) -> None:
    session, families, release = released
    ada = person(session)
    assert changes_since(session, release) == ({}, {})
    accept(session, families[1]["verbal"], ada)  # new
    reject(session, families[0]["verbal"], ada)  # gone
    reject(session, families[2]["verbal"], ada)  # it never was in the release
    # Decisions long before the release are not examined, and the numbers are the same.
    assert changes_since(session, aged(session, release)) == ({}, {})
    edit(session, families[0]["word"], ada, "The bridge seems safe.")  # one gone, one new
    assert changes_since(session, release) == ({"verbal": 1, "word": 1},) * 2
    for _ in range(4):
        deciding.undo(session, reviewer_id=ada)
    assert changes_since(session, release) == ({}, {})
    cue = deciding.edit(session, card(session, families[0]["word"]), reviewer_id=ada, cue="like")
    assert cue.recorded and changes_since(session, release) == ({"word": 1}, {"word": 1})


@pytest.mark.slow
def test_decisions_that_are_in_a_release_are_not_examined(released: Released) -> None:
    session, families, _ = released
    ada = person(session)
    accept(session, families[1]["verbal"], ada)
    newer, _ = freeze(session)
    seen = session.execute(select(touched_since(session, newer))).scalars().all()
    accept(session, families[2]["verbal"], ada)
    after = session.execute(select(touched_since(session, newer))).scalars().all()
    # On PostgreSQL, those of the last minute are included, because others may have stored some.
    assert bool(seen) == (session.get_bind().dialect.name == "postgresql")
    assert families[2]["verbal"].id in after


def test_a_corrected_anchor_takes_its_variants_out_until_they_are_accepted_again(
    released: Released,
) -> None:
    session, families, release = released
    ada, word = person(session), families[0]["word"]
    assert changes_since(session, release) == ({}, {})
    correct(session, word, ada)
    assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
    accept(session, word, ada)
    # With its new text, it is another row of the next release.
    assert changes_since(session, release) == ({"word": 1}, dict.fromkeys(TEXTS, 1))
    newer, created = freeze(session)
    assert created and changes_since(session, newer) == ({}, {})


def test_retired_anchors_disappear_and_restored_ones_appear(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, families, release = released
    monkeypatch.setattr("curation.release.upcoming.COUNTED_AGAIN", 0)
    anchor_id = families[0]["word"].anchor_id
    retire_anchor(session, anchor_id)
    assert changes_since(session, release) == ({}, dict.fromkeys(TEXTS, 1))
    newer, _ = freeze(session)
    assert changes_since(session, newer) == ({}, {})
    restore_anchor(session, anchor_id)
    assert changes_since(session, newer) == (dict.fromkeys(TEXTS, 1), {})
    assert changes_since(session, release) == ({}, {})
    assert contents_now(session) == contents_of(release)


def test_variants_made_for_two_wordings_of_an_anchor_meet_under_the_current_one(
    session: Session,
) -> None:
    ada, family = person(session), add_family(session)
    assert contents_now(session) == (0, 0, 0, {}, {})
    session.add(AnchorRevision(anchor_id=1, revision=2, text="It is safe.", text_uid="x"))
    session.get_one(Anchor, 1).revision = family["word"].anchor_revision = 2
    session.flush()
    for type_id in ("word", "verbal"):
        accept(session, family[type_id], ada)
    assert contents_now(session).triples == 1
    release, _ = freeze(session)
    assert triples_by_type(session, release) == {"word": 1, "verbal": 1}


@pytest.mark.slow
def test_the_preview_of_a_release_equals_its_content_however_it_is_counted(
    released: Released, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, families, release = released

    def agreed() -> None:
        counted = contents_now(session)
        with monkeypatch.context() as patch:
            patch.setattr("curation.release.upcoming.COUNTED_AGAIN", 0)
            patch.setattr("curation.release.upcoming._accepted_families", None)  # it is not called
            assert contents_now(session) == counted

    ada = person(session)
    assert contents_now(session) == contents_of(release)
    agreed()
    accept(session, families[1]["verbal"], ada)
    reject(session, families[0]["lexical"], ada)
    agreed()
    edit(session, families[0]["word"], ada, "The bridge seems safe.")
    verbal = card(session, families[3]["verbal"])
    deciding.edit(session, verbal, reviewer_id=ada, type_id="lexical")
    agreed()
    for variant in families[6].values():
        reject(session, variant, ada)
    retire_anchor(session, families[9]["word"].anchor_id)
    agreed()
    correct(session, families[5]["word"], ada)
    agreed()
    before = contents_now(session)
    assert before.anchors == release.summary["anchors"] - 3
    newer, created = freeze(session)
    assert created and contents_of(newer) == before
