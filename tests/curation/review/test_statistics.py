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
from tests.curation.review.desk import A, Desk, R
from tests.support.databases import both_databases
from tests.support.factories import model

BRIDGE, ROAD, PIER = 1, 8, 15
"""The verbal variants of three families."""


@pytest.fixture
def three(desk: Desk) -> Desk:
    """Three families."""
    for subject in ("road", "pier"):
        desk.family(f"The {subject} is safe.", subject=subject)
    return desk


def decide(
    desk: Desk,
    who: str | int,
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
def test_decisions_are_counted_by_type_without_what_was_undone(three: Desk) -> None:
    ada = three.who("Ada")
    decide(three, "Ada", BRIDGE)
    decide(three, "Ada", ROAD, R)
    decide(three, "Ada", 2)
    three.undo("Ada")
    decide(three, "Ada", 5)
    three.decide("Ada", PIER, Verdict.EDIT)
    three.write(measure_variants, [4, 11, 18])
    rule = parse_rule("levenshtein < 100")
    applied = three.write(apply_rule, rule, verdict=A, reviewer_id=ada, types=["lexical"])
    assert applied.matches.total == 3
    decide(three, three.write(model), BRIDGE)
    found = figures(three)
    assert list(found) == ["Ada"] and found["Ada"].decisions == 4
    assert list(found["Ada"].accepted.items()) == [("verbal", Share(1, 3)), ("word", Share(1, 1))]
    share = found["Ada"].acceptance
    assert share == Share(2, 4)
    assert share.estimate() == pytest.approx((0.5, 0.0676, 0.9324), abs=1e-4)


def test_a_share_in_words_has_an_interval_from_ten_on() -> None:
    assert Share(2, 4).in_words() == "2 of 4"
    assert Share(11, 12).in_words() == "11 of 12, 91.7% (61.5% to 99.8%)"


@both_databases
def test_the_median_leaves_breaks_out_and_counts_a_key_once(three: Desk) -> None:
    for number, after in ((1, 2.0), (2, 4.0), (3, 9.0), (4, 3_600.0)):
        decide(three, "Ada", number, after=after)
    card = three.card(ROAD, shown_at=now() - timedelta(seconds=30))
    three.write(actions.reject_family, card, reviewer_id=three.who("Ada"))
    three.decide("Ada", PIER)
    ada = figures(three)["Ada"]
    assert (ada.timed, ada.seconds) == (4, pytest.approx(7.5, abs=1.2))  # of 2, 4, 9 and 30


@both_databases
def test_gold_counts_the_last_verdict_before_the_answer_was_known(three: Desk) -> None:
    decide(three, "Ben", 1)  # before it was a gold item
    for number, right in ((1, A), (2, R), (3, R)):
        mark(three, number, right)
    decide(three, "Ada", 1, gold=True)
    decide(three, "Ada", 2, gold=True)
    decide(three, "Ada", 2, R)  # on a card that showed the right answer
    decide(three, "Ada", 3, gold=True)
    three.undo("Ada")
    decide(three, "Ada", 3, R, gold=True)
    decide(three, "Lena", 1, R)
    found = figures(three)
    assert found["Ada"].gold == Share(2, 3)
    assert found["Ben"].gold == found["Lena"].gold == Share(0, 0)
    assert found["Ben"].adjudicated == Share(1, 1)  # before Lena settled it
    three.write(items.remove, three.uid(2))
    assert figures(three)["Ada"].gold == Share(2, 2)


@both_databases
def test_adjudication_counts_the_last_verdict_before_anothers_settlement(three: Desk) -> None:
    for number in (1, 2):
        decide(three, "Ada", number)
        decide(three, "Ben", number, R)
    decide(three, "Cleo", 1, R)
    three.settle("Cleo", 1)
    three.settle("Cleo", 2, R)
    decide(three, "Ada", 2, R)  # too late
    decide(three, "Ada", 3)  # not settled
    found = figures(three)
    assert found["Ada"].adjudicated == found["Ben"].adjudicated == Share(1, 2)
    # Her own settlements do not count.
    assert (found["Cleo"].adjudicated, found["Cleo"].decisions) == (Share(0, 0), 1)


def test_a_merged_person_becomes_the_other(three: Desk) -> None:
    mark(three, 1)
    mark(three, 2, use=GoldUse.TRAINING)
    decide(three, "Ada", 1, gold=True)
    decide(three, "Ben", 1, R, gold=True)
    decide(three, "Ben", 3)
    ada = three.who("Ada")
    (item,) = three.read(current_round, ada).left
    three.write(practice.answer, item, A, reviewer_id=ada, round=1)
    three.merge("Ada", into="Ben")
    found = figures(three)
    assert list(found) == ["Ben"]
    ben = found["Ben"]
    figures_of_ben = (ben.decisions, ben.gold, ben.practice_round, ben.practice)
    assert figures_of_ben == (3, Share(0, 1), 1, Score(1, 1))


def test_verdicts_on_gold_items_do_not_overlap_but_earlier_ones_do(three: Desk) -> None:
    decide(three, "Ada", 1)
    decide(three, "Ben", 1, R)
    mark(three, 1)
    mark(three, 2)
    decide(three, "Cleo", 1, gold=True)
    for who in ("Ada", "Ben", "Cleo"):
        decide(three, who, 2, gold=True)
    found = three.read(overlap)
    assert (found.variants, overlapping(found)) == (
        1,
        {three.who(who): 1 for who in ("Ada", "Ben")},
    )
    three.write(items.remove, three.uid(2))  # which does not count them all at once
    assert three.read(overlap).variants == 1
