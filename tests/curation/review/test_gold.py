"""Gold items, practice rounds with those for training, and the statistics about each person."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from curation.decisions.shown_card import MAX_NOTE
from curation.diagnostics.measuring import measure_variants
from curation.editing.anchors import retire_anchor
from curation.project.settings import PRACTISE_FIRST, put_setting
from curation.review import deciding
from curation.review.adjudication import shown_to_settle
from curation.review.agreement.overlap import overlap
from curation.review.gold import items, practice
from curation.review.gold.items import Gold, gold_items
from curation.review.gold.practice import Score, current_round, must_practise, next_round, offered
from curation.review.people_statistics import PersonFigures, Share, overlapping, person_figures
from curation.review.rules import apply_rule, parse_rule
from curation.review.undo import Done
from db.columns import now
from db.models import Decision, GoldUse, Status, Verdict
from tests.curation.review.desk import A, Desk, E, R, Who, refused
from tests.support.databases import Fill, both_databases
from tests.support.factories import add_family, model, person


def make(desk: Desk, verdict: Verdict = A, number: int = 1, **more: object) -> None:
    """Lena creates a gold item."""
    if verdict is R:
        more.setdefault("reason", "wrong_scope")
    more = {"uid": desk.uid(number), "reviewer_id": desk.who("Lena"), "verdict": verdict, **more}
    desk.write(items.mark, **more)


def gold(desk: Desk) -> list[Gold]:
    return list(desk.read(gold_items))


@both_databases
def test_marking_settles_a_variant_that_nobody_disagrees_about(desk: Desk) -> None:
    make(desk, R, explanation=" <b>Only the end.</b>\n")
    (found,) = gold(desk)
    assert (found.verdict, found.reason, found.use) == (R, "wrong_scope", GoldUse.MIXED)
    assert found.explanation == "<b>Only the end.</b>"
    assert (found.maker, found.maker_id) == ("Lena", desk.who("Lena"))
    desk.merge("Lena", into="Lena B.")
    (found,) = gold(desk)
    assert (found.maker, found.maker_id) == ("Lena B.", desk.who("Lena B."))
    assert desk.read(gold_items, of=[1]) == [found] == desk.read(gold_items, use=GoldUse.MIXED)
    assert desk.read(gold_items, of=[2]) == [] == desk.read(gold_items, use=GoldUse.TRAINING)
    assert desk.status(1) is Status.REJECTED


@both_databases
def test_no_verdict_of_a_reviewer_changes_the_status_of_a_gold_item(desk: Desk) -> None:
    make(desk)
    desk.decide("Ben", 1, R)
    child = desk.decide("Cleo", 1, E).child_id
    # An edit replaces nothing; its wording is like a variant of the user's own.
    assert (desk.status(1), desk.status(child)) == (Status.ACCEPTED, Status.ACCEPTED)
    desk.undo("Cleo")
    assert (desk.status(1), desk.status(child)) == (Status.ACCEPTED, Status.SUPERSEDED)
    desk.write(deciding.reject_family, desk.card(2), reviewer_id=desk.who("Dora"))
    assert (desk.status(1), desk.status(2)) == (Status.ACCEPTED, Status.REJECTED)
    assert len(gold(desk)) == 1


@both_databases
def test_one_undo_reverses_the_settlement_and_the_gold_item(desk: Desk) -> None:
    desk.decide("Ben", 1)
    desk.decide("Cleo", 1, R)
    make(desk)
    assert desk.undone("Lena").done is Done.SETTLE
    assert (gold(desk), desk.status(1)) == ([], Status.CONFLICT)
    make(desk, R)
    assert desk.status(1) is Status.REJECTED


def test_removing_leaves_the_status_and_allows_another_settlement(desk: Desk) -> None:
    make(desk, R)
    uid = desk.uid(1)
    with refused(f"{uid}.*gold"):
        desk.read(shown_to_settle, uid)
    assert desk.write(items.remove, uid).verdict is R
    with refused(uid):
        desk.write(items.remove, uid)
    assert (gold(desk), desk.status(1)) == ([], Status.REJECTED)
    assert desk.read(shown_to_settle, uid).settles
    make(desk, A)
    assert desk.status(1) is Status.ACCEPTED


def test_a_corrected_or_retired_anchor_leaves_no_gold_item(desk: Desk) -> None:
    make(desk)
    desk.correct(1)
    assert gold(desk) == []
    make(desk, number=2)
    desk.write(retire_anchor, 1)
    assert gold(desk) == []


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"uid": "0" * 16}, "0" * 16),
        ({"reason": "wrong_type"}, "Only 'reject'"),
        ({"verdict": R, "reason": "not_a_hedge"}, "for hedges"),
        ({"verdict": R, "reason": "silly"}, "silly"),
        ({"verdict": R, "reason": ""}, "found none"),
        ({"verdict": R, "reason": "other"}, "'other'"),
        ({"explanation": "a" * (MAX_NOTE + 1)}, str(MAX_NOTE + 1)),
    ],
)
def test_impossible_values_are_refused(desk: Desk, given: dict[str, object], fact: str) -> None:
    with refused(fact):
        make(desk, **given)  # type: ignore[arg-type]
    assert (gold(desk), desk.status(1)) == ([], Status.PENDING)


def test_a_variant_is_a_gold_item_once_and_while_it_is_in_use(desk: Desk) -> None:
    make(desk)
    with refused("already.*accept"):
        make(desk, R)
    desk.decide("Lena", 2, E)
    with refused("replaced"):
        make(desk, number=2)
    desk.write(retire_anchor, 1)
    with refused("retired"):
        make(desk, number=3)


# -- practice ----------------------------------------------------------------------------------


@pytest.fixture
def practised(engine: object, fill: Fill) -> Desk:
    """Lena has created five training items of two types, and one for the queue."""

    def made(session: Session) -> None:
        lena = person(session, "Lena")
        for subject, verdict in (("bridge", A), ("road", R), ("pier", A)):
            family = add_family(session, f"The {subject} is safe.", subject=subject)
            given = {"reviewer_id": lena, "reason": "wrong_scope" if verdict is R else ""}
            for type_id in ("word", "verbal"):
                if (subject, type_id) != ("pier", "word"):
                    uid = family[type_id].uid
                    items.mark(session, uid, verdict, use=GoldUse.TRAINING, **given)
        items.mark(session, family["lexical"].uid, A, reviewer_id=lena)

    fill(engine, made)
    return Desk(engine)


def answer(desk: Desk, item: Gold, verdict: Verdict, **more: str) -> None:
    desk.write(practice.answer, item, verdict, reviewer_id=desk.who("Ada"), round=1, **more)


def answer_all(desk: Desk, verdict: Verdict, *, again: bool = False) -> None:
    ada = desk.who("Ada")
    now = desk.read(next_round if again else current_round, ada)
    for item in now.left:
        desk.write(practice.answer, item, verdict, reviewer_id=ada, round=now.number)


@both_databases
def test_a_round_has_every_training_item_type_by_type(practised: Desk) -> None:
    ada = practised.who("Ada")
    begun = practised.read(current_round, ada)
    assert [item.type_id for item in begun.left] == ["verbal"] * 3 + ["word"] * 2
    assert (begun.number, begun.answered, begun.is_finished) == (1, (), False)
    answer(practised, begun.left[0], R, reason="wrong_scope")
    answer(practised, begun.left[0], A)  # the first counts
    now = practised.read(current_round, ada)
    assert (now.answered, now.left) == (begun.left[:1], begun.left[1:])
    assert now.answers[begun.left[0].id].reason == "wrong_scope"


@both_databases
def test_the_score_is_by_type_and_a_finished_round_can_be_done_again(practised: Desk) -> None:
    ada, before = practised.who("Ada"), len(practised.rows(Decision))
    answer_all(practised, E)  # which counts as not accepting
    done = practised.read(current_round, ada)
    assert done.is_finished and done.score() == Score(2, 5)
    assert done.by_type() == {"verbal": Score(1, 3), "word": Score(1, 2)}
    assert practised.read(practice.scores) == {ada: (1, Score(2, 5))}
    answer_all(practised, A, again=True)
    again = practised.read(current_round, ada)
    assert (again.number, again.score(), again.is_finished) == (2, Score(3, 5), True)
    assert practised.read(practice.scores) == {ada: (2, Score(3, 5))}
    assert len(practised.rows(Decision)) == before


@pytest.mark.slow
@both_databases
def test_it_is_offered_to_new_reviewers_until_they_have_finished(
    practised: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben, lena = practised.people("Ada", "Ben", "Lena")

    def asked(who: int) -> tuple[int, bool]:
        return practised.read(offered, who), practised.read(must_practise, who)

    assert asked(ada) == (5, False)
    assert asked(lena) == (0, False)  # who made them
    practised.write(put_setting, PRACTISE_FIRST, True)
    assert asked(ada) == (5, True)
    answer_all(practised, A)
    assert asked(ada) == (0, False)
    practised.decide("Ben", 2)
    assert asked(ben) == (5, False)
    monkeypatch.setattr(practice, "NEW", 1)
    assert asked(ben) == (0, False)


def test_two_people_who_are_one_have_one_round(practised: Desk) -> None:
    ada, ben = practised.people("Ada", "Ben")
    item = practised.read(current_round, ada).left[0]
    answer(practised, item, item.verdict)
    practised.merge("Ada", into="Ben")
    assert practised.read(current_round, ben).answered == (item,)
    assert practised.read(practice.scores) == {ben: (1, Score(1, 1))}
    practised.separate("Ada")
    assert practised.read(current_round, ben).answered == ()


def test_an_item_that_is_removed_leaves_the_round(practised: Desk) -> None:
    ada = practised.who("Ada")
    item = practised.read(current_round, ada).left[0]
    answer(practised, item, item.verdict)
    practised.write(items.remove, item.uid)
    now = practised.read(current_round, ada)
    assert (len(now.items), now.answered, now.score()) == (4, (), Score(0, 0))
    assert practised.read(practice.scores) == {ada: (1, Score(1, 1))}  # the answers are kept


def test_an_impossible_answer_is_refused(practised: Desk) -> None:
    item = practised.read(current_round, practised.who("Ada")).left[0]
    for verdict, reason in ((R, "not_a_hedge"), (R, "silly"), (Verdict.RETRACT, "")):
        with refused():
            answer(practised, item, verdict, reason=reason)
    assert practised.read(current_round, practised.who("Ada")).answers == {}


BRIDGE, ROAD, PIER = 1, 8, 15
"""Verbal variants."""


def decide(
    desk: Desk,
    who: Who,
    variant_id: int,
    verdict: Verdict = A,
    after: float = 2,
    **card: bool,
) -> None:
    """A decision on a card that was shown this many seconds ago."""
    more = {"reason": "wrong_type"} if verdict is R else {}
    shown_at = now() - timedelta(seconds=after)
    desk.decide(who, variant_id, verdict, shown_at=shown_at, **card, **more)


def mark(desk: Desk, variant_id: int, right: Verdict = A, **more: GoldUse) -> None:
    """Lena creates a gold item."""
    reason, lena = "wrong_scope" if right is R else "", desk.who("Lena")
    desk.write(items.mark, desk.uid(variant_id), right, reviewer_id=lena, reason=reason, **more)


def figures(desk: Desk) -> dict[str, PersonFigures]:
    return {one.name: one for one in desk.read(person_figures)}


@both_databases
def test_decisions_are_counted_by_type_without_what_was_undone(twelve: Desk) -> None:
    ada = twelve.who("Ada")
    decide(twelve, "Ada", BRIDGE)
    decide(twelve, "Ada", ROAD, R)
    decide(twelve, "Ada", 2)
    twelve.undo("Ada")
    decide(twelve, "Ada", 5)
    twelve.decide("Ada", PIER, Verdict.EDIT)
    twelve.write(measure_variants, [4, 11, 18])
    rule = parse_rule("levenshtein < 100")
    applied = apply_rule(twelve.engine, rule, verdict=A, reviewer_id=ada, types=["lexical"])
    assert applied.matches.total == 3
    decide(twelve, twelve.write(model), BRIDGE)
    found = figures(twelve)
    assert list(found) == ["Ada"] and found["Ada"].decisions == 4
    assert list(found["Ada"].accepted.items()) == [("verbal", Share(1, 3)), ("word", Share(1, 1))]
    share = found["Ada"].acceptance
    assert share == Share(2, 4)
    assert share.estimate() == pytest.approx((0.5, 0.0676, 0.9324), abs=1e-4)
    assert share.in_words() == "2 of 4"  # an interval needs ten
    assert Share(11, 12).in_words() == "11 of 12, 91.7% (61.5% to 99.8%)"


@both_databases
def test_the_median_leaves_breaks_out_and_counts_a_key_once(twelve: Desk) -> None:
    for number, after in ((1, 2.0), (2, 4.0), (3, 9.0), (4, 3_600.0)):
        decide(twelve, "Ada", number, after=after)
    card = twelve.card(ROAD, shown_at=now() - timedelta(seconds=30))
    twelve.write(deciding.reject_family, card, reviewer_id=twelve.who("Ada"))
    twelve.decide("Ada", PIER)
    ada = figures(twelve)["Ada"]
    assert (ada.timed, ada.seconds) == (4, pytest.approx(7.5, abs=1.2))  # of 2, 4, 9 and 30


@both_databases
def test_gold_counts_the_last_verdict_before_the_answer_was_known(twelve: Desk) -> None:
    decide(twelve, "Ben", 1)  # before it was a gold item
    for number, right in ((1, A), (2, R), (3, R)):
        mark(twelve, number, right)
    decide(twelve, "Ada", 1, gold=True)
    decide(twelve, "Ada", 2, gold=True)
    decide(twelve, "Ada", 2, R)  # on a card that showed the right answer
    decide(twelve, "Ada", 3, gold=True)
    twelve.undo("Ada")
    decide(twelve, "Ada", 3, R, gold=True)
    decide(twelve, "Lena", 1, R)
    found = figures(twelve)
    assert found["Ada"].gold == Share(2, 3)
    assert found["Ben"].gold == found["Lena"].gold == Share(0, 0)
    assert found["Ben"].adjudicated == Share(1, 1)  # before Lena settled it
    twelve.write(items.remove, twelve.uid(2))
    assert figures(twelve)["Ada"].gold == Share(2, 2)


@both_databases
def test_adjudication_counts_the_last_verdict_before_anothers_settlement(twelve: Desk) -> None:
    for number in (1, 2):
        decide(twelve, "Ada", number)
        decide(twelve, "Ben", number, R)
    decide(twelve, "Cleo", 1, R)
    twelve.settle("Cleo", 1)
    twelve.settle("Cleo", 2, R)
    decide(twelve, "Ada", 2, R)  # too late
    decide(twelve, "Ada", 3)  # not settled
    found = figures(twelve)
    assert found["Ada"].adjudicated == found["Ben"].adjudicated == Share(1, 2)
    # Her own settlements do not count.
    assert (found["Cleo"].adjudicated, found["Cleo"].decisions) == (Share(0, 0), 1)


def test_a_merged_person_becomes_the_other(twelve: Desk) -> None:
    mark(twelve, 1)
    mark(twelve, 2, use=GoldUse.TRAINING)
    decide(twelve, "Ada", 1, gold=True)
    decide(twelve, "Ben", 1, R, gold=True)
    decide(twelve, "Ben", 3)
    ada = twelve.who("Ada")
    (item,) = twelve.read(current_round, ada).left
    twelve.write(practice.answer, item, A, reviewer_id=ada, round=1)
    twelve.merge("Ada", into="Ben")
    found = figures(twelve)
    assert list(found) == ["Ben"]
    ben = found["Ben"]
    figures_of_ben = (ben.decisions, ben.gold, ben.practice_round, ben.practice)
    assert figures_of_ben == (3, Share(0, 1), 1, Score(1, 1))


def test_verdicts_on_gold_items_do_not_overlap_but_earlier_ones_do(twelve: Desk) -> None:
    decide(twelve, "Ada", 1)
    decide(twelve, "Ben", 1, R)
    mark(twelve, 1)
    mark(twelve, 2)
    decide(twelve, "Cleo", 1, gold=True)
    for who in ("Ada", "Ben", "Cleo"):
        decide(twelve, who, 2, gold=True)
    found = twelve.read(overlap)
    assert (found.variants, overlapping(found)) == (
        1,
        {twelve.who(who): 1 for who in ("Ada", "Ben")},
    )
    twelve.write(items.remove, twelve.uid(2))  # which does not count them all at once
    assert twelve.read(overlap).variants == 1
