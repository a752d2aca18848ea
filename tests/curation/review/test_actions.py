"""Accept, reject, edit, retype, undo and the history; disagreements, and settling them."""

from datetime import timedelta

import pytest

from curation.decisions.history import (
    actions_since,
    decided_by,
    history,
    last_actions,
    latest_of_each,
)
from curation.decisions.storing import store_decisions
from curation.review import deciding
from curation.review.adjudication import (
    ConflictOrder,
    conflicts,
    contested,
    ranked,
    settled,
    shown_to_settle,
    verdicts_on,
    wordings,
)
from curation.review.adjudication import latest_of_each as latest_verdicts
from curation.review.queue import awaiting_a_person, status_counts
from curation.review.undo import Done
from db.columns import now
from db.models import Decision, Diagnostic, Status, Verdict
from tests.curation.review.desk import (
    ABSOLUTE,
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


def test_a_decision_is_stored_with_what_was_shown(desk: Desk) -> None:
    card = desk.card(VERBAL)
    assert desk.decide("Ada", card, note="nice").recorded
    (row,) = desk.rows(Decision)
    found = (row.verdict, row.note, row.variant_version, row.action_id)
    assert found == (A, "nice", 1, card.action_id)
    assert (desk.status(VERBAL), desk.get(VERBAL).version) == (Status.ACCEPTED, 2)


@both_databases
def test_the_same_showing_decides_once(desk: Desk) -> None:
    card = desk.card(VERBAL)
    done = [desk.decide("Ada", card, verdict).recorded for verdict in (A, A, R)]
    assert done == [True, False, False]
    assert not desk.write(deciding.reject_family, card, reviewer_id=desk.who("Ada")).recorded
    assert len(desk.rows(Decision)) == 1


@both_databases
def test_the_second_window_learns_of_the_first_and_both_are_kept(desk: Desk) -> None:
    one, two = desk.card(VERBAL), desk.card(VERBAL)
    assert desk.decide("Ada", one).overtaken == ()
    assert desk.decide("Bert", two, R).overtaken == ("Ada",)
    assert (desk.status(VERBAL), len(desk.rows(Decision))) == (Status.CONFLICT, 2)


@pytest.mark.parametrize(
    ("verdict", "more", "fact"),
    [
        (R, {"reason": "no_such_reason"}, "no_such_reason"),
        (R, {"reason": "other"}, "'other'"),
        (E, {"text": "The bridge is not safe."}, "unchanged"),
        (E, {"text": "  "}, "found 0"),
        (E, {"text": "x" * 2001}, "2001"),
        (E, {"text": "bad \x00 byte"}, "control"),
    ],
)
def test_a_refused_decision_changes_nothing(
    desk: Desk, verdict: Verdict, more: dict[str, str], fact: str
) -> None:
    with refused(fact):
        desk.decide("Ada", VERBAL, verdict, **more)
    assert (desk.rows(Decision), desk.status(VERBAL)) == ([], Status.PENDING)


@both_databases
def test_an_edit_replaces_the_original_until_it_is_undone(desk: Desk) -> None:
    outcome = desk.decide("Ada", VERBAL, E, text="The bridge  isn't safe.")
    child = desk.get(outcome.child_id)
    assert (child.parent_id, child.text) == (VERBAL, "The bridge isn't safe.")
    assert (desk.status(VERBAL), desk.status(child.id)) == (Status.SUPERSEDED, Status.ACCEPTED)
    assert [row.levenshtein for row in desk.rows(Diagnostic)] == [3]
    assert len({row.action_id for row in desk.rows(Decision)}) == 1
    undone = desk.undone()
    assert (undone.variant_id, undone.decisions, undone.variants) == (VERBAL, 2, 1)
    assert (desk.status(VERBAL), desk.status(child.id)) == (Status.PENDING, Status.SUPERSEDED)
    assert desk.decide("Ada", VERBAL, E, text="The bridge isn't safe.").child_id == child.id


def test_a_retyped_variant_keeps_its_text(desk: Desk) -> None:
    child = desk.get(desk.decide("Ada", LEXICAL, E, type_id="affixal").child_id)
    assert (child.type_id, child.text) == ("affixal", "The bridge is dangerous.")
    (row,) = desk.read(history, LEXICAL)
    assert (row.verdict, row.reason) == (E, "wrong_type")


def test_an_edit_into_a_known_sibling_takes_that_one(desk: Desk) -> None:
    edited = desk.decide("Ada", VERBAL, E, text="The bridge is unsafe.", type_id="affixal")
    assert (edited.child_id, desk.status(AFFIXAL)) == (AFFIXAL, Status.ACCEPTED)
    desk.undo()
    assert desk.status(AFFIXAL) == desk.status(VERBAL) == Status.PENDING


def test_undo_goes_back_to_the_first_action_and_leaves_others_alone(desk: Desk) -> None:
    variants = [VERBAL, ABSOLUTE, AFFIXAL, LEXICAL]
    for variant in variants:
        desk.decide("Ada", variant)
    assert desk.undo("Bert") is None
    for variant in reversed(variants):
        assert (desk.undone().variant_id, desk.status(variant)) == (variant, Status.PENDING)
    assert desk.undo() is None
    assert len(desk.rows(Decision)) == 8


@both_databases
def test_a_family_is_rejected_and_restored_as_one(desk: Desk) -> None:
    other = desk.family("Trains are late.", subject="train")["verbal"]
    done = desk.write(deciding.reject_family, desk.card(WORD), reviewer_id=desk.who("Ada"))
    assert (len(done.changes), desk.status(other)) == (7, Status.PENDING)
    assert [found[Status.REJECTED] for found in desk.read(status_counts).values()] == [1] * 7
    undone = desk.undone()
    assert (undone.variant_id, undone.decisions, undone.variants) == (WORD, 7, 7)
    assert not any(found[Status.REJECTED] for found in desk.read(status_counts).values())


def test_a_persons_verdict_outranks_the_models(desk: Desk) -> None:
    desk.decide(desk.write(model), VERBAL)
    assert desk.status(VERBAL) == Status.ACCEPTED
    desk.decide("Ada", VERBAL, R)
    assert desk.status(VERBAL) == Status.REJECTED
    desk.undo()
    assert desk.status(VERBAL) == Status.ACCEPTED


def test_a_replaced_wording_takes_no_verdict_unless_its_card_is_older(desk: Desk) -> None:
    early = desk.card(VERBAL)
    child = desk.decide("Ada", VERBAL, E).child_id
    for verdict in (A, R):
        with refused(desk.uid(child or 0)):
            desk.decide("Ada", VERBAL, verdict)
    assert (len(desk.rows(Decision)), desk.status(VERBAL)) == (2, Status.SUPERSEDED)
    assert desk.decide("Bert", early).recorded
    assert desk.status(VERBAL) == Status.CONFLICT


# -- the history -------------------------------------------------------------------------------


def test_the_history_shows_undone_actions(desk: Desk) -> None:
    desk.decide("Ada", VERBAL, note="ok")
    desk.decide("Bert", WORD)
    assert desk.read(decided_by, desk.who("Ada"), range(1, 8)) == {VERBAL}
    desk.undo()
    assert desk.read(decided_by, desk.who("Ada"), range(1, 8)) == set()
    desk.decide("Ada", VERBAL, R)
    found = desk.read(history, VERBAL)
    rows = [(d.reviewer, d.verdict, d.retracted, d.note) for d in found]
    assert rows == [("Ada", A, True, "ok"), ("Ada", R, False, "")]
    assert latest_of_each(found) == found[1:]


@both_databases
def test_your_latest_actions_come_first_and_complete(desk: Desk) -> None:
    desk.decide("Ada", VERBAL)
    desk.decide("Bert", WORD)
    ada = desk.who("Ada")
    desk.write(deciding.reject_family, desk.card(LEXICAL), reviewer_id=ada)
    found = desk.read(last_actions, ada, limit=9)
    assert [(a.verdict, a.type_id, a.decisions) for a in found] == [
        (R, "lexical", 7),  # the card it was made on, not the family's first
        (A, "verbal", 1),
    ]
    assert desk.read(last_actions, ada, limit=1) == found[:1]
    undone = desk.write(deciding.retract_action, found[0].action_id, reviewer_id=ada)
    assert undone.variant_id == LEXICAL
    assert desk.read(last_actions, ada, limit=9) == found[1:]


def test_the_actions_of_a_day_are_those_since_its_beginning(desk: Desk) -> None:
    ada, yesterday = desk.who("Ada"), now() - timedelta(days=1)
    old = Decision(
        variant_id=VERBAL,
        variant_version=1,
        reviewer_id=ada,
        verdict=A,
        action_id="yesterday's",
        decided_at=yesterday,
    )
    desk.write(store_decisions, [old])
    desk.decide("Ada", WORD)
    desk.decide("Ada", LEXICAL)
    beginnings = (yesterday - timedelta(days=1), now() - timedelta(hours=1), now() + timedelta(1))
    assert [len(desk.read(actions_since, ada, moment)) for moment in beginnings] == [3, 2, 0]
    desk.undo()
    assert len(desk.read(actions_since, ada, beginnings[1])) == 1


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
    conflict.write(deciding.reject_family, card, reviewer_id=conflict.who("Cleo"))
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
    given = latest_verdicts(disputed.read(verdicts_on, [LEXICAL])[LEXICAL])
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
