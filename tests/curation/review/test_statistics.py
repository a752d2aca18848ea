"""Statistics about each person: which verdicts count, and what they are compared with."""

from datetime import timedelta

import pytest

from curation.diagnostics.measuring import measure_variants
from curation.review import actions
from curation.review.agreement.overlap import overlap
from curation.review.bulk import apply_rule, parse_rule
from curation.review.gold import items, practice
from curation.review.gold.practice import Score, current_round
from curation.review.people.statistics import PersonFigures, Share, overlapping, person_figures
from db.columns import now
from db.models import GoldUse, Verdict
from tests.curation.review.desk import A, Desk, R, Who
from tests.support.databases import both_databases
from tests.support.factories import model

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
    applied = twelve.write(apply_rule, rule, verdict=A, reviewer_id=ada, types=["lexical"])
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
    twelve.write(actions.reject_family, card, reviewer_id=twelve.who("Ada"))
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
