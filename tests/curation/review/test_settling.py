"""Settling disagreements of reviewers."""

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.anchors.changes import correct_anchor
from curation.review import actions
from curation.review.actions import ShownCard, shown
from curation.review.decisions import compute_standing
from curation.review.history import history
from curation.review.queue import awaiting_a_person
from curation.review.settling import contested, shown_to_settle
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, model, person

pytestmark = both_databases


@pytest.fixture
def conflict(engine: Engine) -> int:
    """A variant that Ada accepted and Bert rejected."""
    with writing(engine) as session:
        variant = add_family(session)["verbal"]
        disagree(session, variant.id)
        return variant.id


def disagree(session: Session, variant_id: int) -> None:
    variant = session.get_one(Variant, variant_id)
    actions.accept(session, shown(variant), reviewer_id=person(session))
    bert = person(session, "Bert")
    actions.reject(session, shown(variant), reviewer_id=bert, reason="wrong_scope", note="Narrow.")


def settling(session: Session, variant_id: int) -> ShownCard:
    return shown_to_settle(session, session.get_one(Variant, variant_id).uid)


def status(engine: Engine, variant_id: int) -> Status:
    with reading(engine) as session:
        kept = session.get_one(Variant, variant_id).status
        assert kept == compute_standing(session, [variant_id])[variant_id].status
        return kept


def test_a_third_verdict_leaves_the_conflict_and_settling_ends_it(
    engine: Engine, conflict: int
) -> None:
    with writing(engine) as session:
        cleo = person(session, "Cleo")
        card = shown(session.get_one(Variant, conflict))
        actions.accept(session, card, reviewer_id=cleo)
    assert status(engine, conflict) == Status.CONFLICT
    with writing(engine) as session:
        actions.reject(session, settling(session, conflict), reviewer_id=cleo, reason="wrong_type")
    assert status(engine, conflict) == Status.REJECTED
    with reading(engine) as session:
        assert [entry.settles for entry in history(session, conflict)] == [False] * 3 + [True]


def test_undo_returns_a_settlement_to_the_conflict(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        actions.accept(session, settling(session, conflict), reviewer_id=person(session))
    assert status(engine, conflict) == Status.ACCEPTED
    with writing(engine) as session:
        actions.undo(session, reviewer_id=person(session))
    assert status(engine, conflict) == Status.CONFLICT


@one_database
def test_only_a_settlement_changes_a_settled_variant(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        ada = person(session)
        actions.accept(session, settling(session, conflict), reviewer_id=ada)
        card = shown(session.get_one(Variant, conflict))
        actions.reject(session, card, reviewer_id=ada, reason="wrong_type")
        assert contested(session, [session.get_one(Variant, conflict)]) == {conflict}
    assert status(engine, conflict) == Status.ACCEPTED
    with writing(engine) as session:
        card = settling(session, conflict)
        actions.reject(session, card, reviewer_id=person(session, "Bert"), reason="wrong_type")
    assert status(engine, conflict) == Status.REJECTED


@one_database
def test_an_edit_settles_with_its_own_wording(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        card = settling(session, conflict)
        child = actions.edit(
            session, card, reviewer_id=person(session), text="It isn't safe."
        ).child_id
    assert child is not None
    assert (status(engine, conflict), status(engine, child)) == (
        Status.SUPERSEDED,
        Status.ACCEPTED,
    )


def test_rejecting_the_family_from_a_card_in_conflict_settles_the_other_conflicts_in_it(
    engine: Engine, conflict: int
) -> None:
    with writing(engine) as session:
        anchor = session.get_one(Variant, conflict).anchor_id
        ids = [v for v in range(1, 8) if session.get_one(Variant, v).anchor_id == anchor]
        disagree(session, ids[-1])
        actions.reject_family(
            session, settling(session, conflict), reviewer_id=person(session, "Cleo")
        )
    assert {status(engine, key) for key in ids} == {Status.REJECTED}


def test_a_correction_of_the_anchor_ends_a_settlement(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        ada = person(session)
        actions.accept(session, settling(session, conflict), reviewer_id=ada)
        variant = session.get_one(Variant, conflict)
        correct_anchor(
            session,
            variant.anchor_id,
            "The bridges are safe.",
            reviewer_id=ada,
            expected_revision=1,
        )
        actions.reject(
            session, shown(session.get_one(Variant, conflict)), reviewer_id=ada, reason="wrong_type"
        )
        assert not contested(session, [session.get_one(Variant, conflict)])
    assert status(engine, conflict) == Status.REJECTED


@one_database
def test_a_variant_without_a_conflict_cannot_be_settled(engine: Engine) -> None:
    with writing(engine) as session:
        family = add_family(session)
        actions.accept(session, shown(family["word"]), reviewer_id=model(session))
        assert not contested(session, family.values())
        for variant in (family["verbal"], family["word"]):
            with pytest.raises(HedgerowError, match="Expected a variant in conflict"):
                shown_to_settle(session, variant.uid)


@one_database
def test_a_selection_shows_a_variant_in_conflict(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        assert awaiting_a_person(session, [conflict]) == {conflict}
        actions.accept(session, settling(session, conflict), reviewer_id=person(session))
        assert awaiting_a_person(session, [conflict]) == set()


@one_database
def test_an_undo_says_that_it_undid_a_settlement(engine: Engine, conflict: int) -> None:
    with writing(engine) as session:
        ada = person(session)
        actions.accept(session, settling(session, conflict), reviewer_id=ada)
        assert str(actions.undo(session, reviewer_id=ada)) == "Settlement undone."
    assert status(engine, conflict) == Status.CONFLICT
