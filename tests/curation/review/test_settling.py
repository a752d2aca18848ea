"""Disagreements: each person's verdict, their order, settling them, and the settled ones."""

from datetime import timedelta

import pytest

from curation.review import actions
from curation.review.adjudication import (
    ConflictOrder,
    conflicts,
    latest_of_each,
    ranked,
    settled,
    verdicts_on,
    wordings,
)
from curation.review.history import history
from curation.review.queue import awaiting_a_person
from curation.review.settling import contested, shown_to_settle
from curation.review.undo import Done
from db.columns import now
from db.models import Decision, Status
from tests.curation.review.desk import (
    AFFIXAL,
    ANTONYM,
    LEXICAL,
    VERBAL,
    WORD,
    A,
    Desk,
    E,
    R,
    refused,
)
from tests.support.databases import both_databases
from tests.support.factories import model

BETTER = "The bridge is in no way safe."


@pytest.fixture
def conflict(desk: Desk) -> Desk:
    """Ada accepts the verbal variant and Bert rejects it."""
    desk.decide("Ada", VERBAL)
    desk.decide("Bert", VERBAL, R, note="Narrow.")
    return desk


def is_contested(desk: Desk, *ids: int) -> frozenset[int]:
    return desk.read(contested, [desk.get(key) for key in ids])


@pytest.mark.slow
@both_databases
def test_a_third_verdict_leaves_the_conflict_and_settling_ends_it(conflict: Desk) -> None:
    conflict.decide("Cleo", VERBAL)
    assert conflict.status(VERBAL) == Status.CONFLICT
    assert conflict.read(awaiting_a_person, [VERBAL]) == {VERBAL}
    conflict.settle("Cleo", VERBAL, R)
    assert conflict.status(VERBAL) == Status.REJECTED
    assert conflict.read(awaiting_a_person, [VERBAL]) == set()
    assert [one.settles for one in conflict.read(history, VERBAL)] == [False] * 3 + [True]
    assert conflict.undone("Cleo").done is Done.SETTLE
    assert conflict.status(VERBAL) == Status.CONFLICT


def test_only_a_settlement_changes_a_settled_variant(conflict: Desk) -> None:
    conflict.settle("Ada", VERBAL)
    conflict.decide("Ada", VERBAL, R)
    assert is_contested(conflict, VERBAL) == {VERBAL}
    assert conflict.status(VERBAL) == Status.ACCEPTED
    conflict.settle("Bert", VERBAL, R)
    assert conflict.status(VERBAL) == Status.REJECTED


def test_rejecting_the_family_from_a_card_in_conflict_settles_the_other_conflicts_in_it(
    conflict: Desk,
) -> None:
    conflict.decide("Ada", ANTONYM)
    conflict.decide("Bert", ANTONYM, R)
    card = conflict.read(shown_to_settle, conflict.uid(VERBAL))
    conflict.write(actions.reject_family, card, reviewer_id=conflict.who("Cleo"))
    assert {one.status for one in conflict.standings().values()} == {Status.REJECTED}
    rows = conflict.rows(Decision)
    assert {one.variant_id for one in rows if one.adjudicates} == {VERBAL, ANTONYM}


@both_databases
def test_a_correction_of_the_anchor_ends_a_settlement(conflict: Desk) -> None:
    conflict.settle("Ada", VERBAL)
    conflict.correct(VERBAL)
    conflict.decide("Ada", VERBAL, R)
    assert not is_contested(conflict, VERBAL)
    assert conflict.status(VERBAL) == Status.REJECTED


def test_a_variant_without_a_conflict_cannot_be_settled(desk: Desk) -> None:
    desk.decide(desk.write(model), WORD)
    assert not is_contested(desk, VERBAL, WORD)
    for variant_id in (VERBAL, WORD):
        with refused(f"conflict.*{desk.uid(variant_id)}"):
            desk.settle("Ada", variant_id)


# -- the list of conflicts ---------------------------------------------------------------------


@pytest.fixture
def disputed(conflict: Desk) -> Desk:
    """Also, five people disagree about the lexical variant. The affixal one has agreement."""
    conflict.decide("Ada", AFFIXAL)
    for name, verdict in zip("CDEFG", (A, R, A, R, A), strict=True):
        shown_at = now() - timedelta(seconds=7)
        conflict.decide(name, LEXICAL, verdict, note="Wide.", shown_at=shown_at)
    return conflict


@both_databases
def test_conflicts_show_each_persons_verdict(disputed: Desk) -> None:
    first, second = disputed.read(conflicts)
    assert (first.type_id, first.dispute, second.dispute) == ("verbal", 1, 2)
    assert first.anchor == "The bridge is safe."
    accepted, rejected = first.verdicts
    assert (accepted.reviewer, accepted.verdict, accepted.seconds) == ("Ada", A, None)
    assert (rejected.reason, rejected.note) == ("wrong_scope", "Narrow.")
    assert all(6 < (one.seconds or 0) < 120 for one in second.verdicts)
    assert first.since == rejected.decided_at
    assert [one.type_id for one in disputed.read(conflicts, type_ids=["lexical"])] == ["lexical"]
    assert disputed.read(conflicts, source_id=99) == []


@both_databases
def test_the_most_disputed_comes_first_and_own_anchors_before_corpora(disputed: Desk) -> None:
    assert disputed.read(ranked) == [LEXICAL, VERBAL]
    found = disputed.read(conflicts, order=ConflictOrder.DISPUTED)
    assert [one.dispute for one in found] == [2, 1]
    corpus = disputed.family("The road is safe.", source="Hedgerow starter corpus")["verbal"]
    for name, verdict in zip("CDEFGH", (A, R) * 3, strict=True):
        disputed.decide(name, corpus, verdict)
    assert disputed.read(ranked) == [LEXICAL, VERBAL, corpus]


def test_a_change_of_mind_counts_once_and_undone_decisions_do_not_count(disputed: Desk) -> None:
    disputed.decide("C", LEXICAL, R)
    disputed.undo("G")
    given = latest_of_each(disputed.read(verdicts_on, [LEXICAL])[LEXICAL])
    assert [one.verdict for one in given] == [R, R, A, R]
    assert disputed.read(conflicts)[1].dispute == 1


@both_databases
def test_an_edited_wording_is_reported_and_can_settle_it(conflict: Desk) -> None:
    conflict.decide("Dora", VERBAL, E, text=BETTER)
    (wording,) = wordings(conflict.read(verdicts_on, [VERBAL])[VERBAL])
    assert (wording.text, wording.type_id) == (BETTER, "verbal")
    child = conflict.settle("Cleo", VERBAL, E, text=wording.text).child_id
    assert conflict.uid(child or 0) == wording.uid
    statuses = conflict.status(VERBAL), conflict.status(child)
    assert statuses == (Status.SUPERSEDED, Status.ACCEPTED)
    (found,) = conflict.read(settled)
    assert found.settlement.wording == wording


@pytest.mark.slow
@both_databases
def test_a_settled_conflict_keeps_its_trail_and_an_undo_brings_it_back(disputed: Desk) -> None:
    for name, variant_id in (("Cleo", VERBAL), ("Cleo", LEXICAL), ("Dora", LEXICAL)):
        disputed.settle(name, variant_id, R)
    assert disputed.read(conflicts) == []
    second, first = disputed.read(settled)
    assert [second.variant_id, first.variant_id] == [LEXICAL, VERBAL]
    assert second.settlement.reviewer == "Dora"
    assert [one.reviewer for one in second.verdicts] == [*"CDEFG", "Cleo"]
    given = [(one.reviewer, one.verdict) for one in first.verdicts]
    assert given == [("Ada", A), ("Bert", R)]
    assert disputed.read(settled, limit=1) == [second]
    assert disputed.read(settled, type_id="verbal") == [first]
    assert disputed.read(settled, type_id="word") == [] == disputed.read(settled, source_id=99)
    disputed.undo("Cleo")
    disputed.undo("Dora")
    assert [one.variant_id for one in disputed.read(settled)] == [VERBAL]
    assert [one.type_id for one in disputed.read(conflicts)] == ["lexical"]
