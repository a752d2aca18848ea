"""A judge compared with people on a blind sample: by hand, and with libraries."""

from collections.abc import Sequence

import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import shown
from curation.review.calibration.certainty import reliability
from curation.review.calibration.figures import calibration, exact_share, type_figures
from curation.review.calibration.sample import SampleRequest
from curation.review.opinions.stored import show_opinions
from db.engine import reading, writing
from db.models import Variant, Verdict
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, add_opinion, draw_sample, judge, person

pytestmark = both_databases

A, R, E = Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT


def decide(
    session: Session, variant: Variant, who: int, verdict: Verdict, *, blind: bool = True
) -> None:
    card = shown(variant, blind=blind)
    if verdict is A:
        actions.accept(session, card, reviewer_id=who)
    elif verdict is R:
        actions.reject(session, card, reviewer_id=who, reason="wrong_scope")
    else:
        actions.edit(session, card, reviewer_id=who, text=f"{variant.text} Really.")


def families(session: Session, number: int) -> list[dict[str, Variant]]:
    return [
        add_family(session, f"Bridge {n} is safe.", subject=f"bridge {n}") for n in range(number)
    ]


def test_the_verdicts_are_those_of_the_sample_that_people_gave_blind(engine: Engine) -> None:
    pairs = [(A, A), (A, A), (A, E), (R, R), (R, A), (E, E)]
    with writing(engine) as session:
        who, ada, bert = judge(session), person(session), person(session, "Bert")
        variants = [family["verbal"] for family in families(session, 12)]
        for variant in variants[:11]:
            add_opinion(session, variant, A, reviewer_id=who)
        pool = SampleRequest(types=("verbal",), judges=("judge: fake, prompt 1",))
        sample = draw_sample(session, pool)
    # The opinions are stored again, as if the judge was asked after the sample was created.
    with writing(engine) as session:
        other = judge(session, "other")
        kept = [session.get_one(Variant, variant.id) for variant in variants]
        for variant, (model, people) in zip(kept, pairs, strict=False):
            add_opinion(session, variant, model, reviewer_id=other, certainty=0.9)
            decide(session, variant, ada, people)
        # Not counted: not blind, decided after looking, outside the sample, or undone.
        add_opinion(session, kept[6], A, reviewer_id=other)
        decide(session, kept[6], ada, A, blind=False)
        add_opinion(session, kept[7], A, reviewer_id=other)
        show_opinions(session, kept[7].id, reviewer_id=ada, own_first=False)
        session.flush()
        decide(session, kept[7], ada, A)
        add_opinion(session, kept[11], R, reviewer_id=other)
        decide(session, kept[11], ada, R)
        add_opinion(session, kept[8], A, reviewer_id=other)
        decide(session, kept[8], ada, A)
        actions.undo(session, reviewer_id=ada)
        # If people disagree, the strictest verdict counts.
        decide(session, kept[0], bert, R)
        # A later change of mind does not affect the blind verdict.
        decide(session, kept[3], ada, A, blind=False)
    with reading(engine) as session:
        found = calibration(session, sample.id)
    assert dict(found.sampled) == {"verbal": 11} and dict(found.decided) == {"verbal": 6}
    assert found.disagree == 1
    one = found.judge("judge: other, prompt 1")
    assert one is not None and one.judged == 9
    (row,) = one.types
    assert row.cells == {(A, R): 1, (A, A): 1, (A, E): 1, (R, R): 1, (R, A): 1, (E, E): 1}
    assert (row.items, row.accepted, row.base_rate) == (6, 3, 2 / 6)
    assert row.precision[:1] == (1 / 3,) and row.agreement.value == 3 / 6
    assert one.together == row._replace(type_id="all")
    assert one.reliability.error == pytest.approx(0.4)


def test_judges_are_ranked_by_kappa(engine: Engine) -> None:
    with writing(engine) as session:
        ada = person(session)
        variants = [family["word"] for family in families(session, 8)]
        draw_sample(session, SampleRequest(types=("word",)))
        for name, errors in (("bad", 4), ("good", 1), ("fair", 2)):
            for number, variant in enumerate(variants):
                verdict = A if (number % 2 == 0) != (number < errors) else R
                add_opinion(session, variant, verdict, reviewer_id=judge(session, name))
        for number, variant in enumerate(variants):
            decide(session, variant, ada, A if number % 2 == 0 else R)
        silent = judge(session, "silent")
        add_opinion(session, add_family(session, "A road is safe.")["word"], reviewer_id=silent)
    with reading(engine) as session:
        names = [one.name for one in calibration(session).judges]
    assert names == [f"judge: {name}, prompt 1" for name in ("good", "fair", "bad")]


@one_database
def test_kappa_and_precision_are_those_of_libraries() -> None:
    cells = {(A, A): 30, (A, R): 4, (R, A): 5, (E, R): 3, (R, R): 8}
    row = type_figures("verbal", cells)
    given = [(int(j is A), int(p is A)) for (j, p), n in cells.items() for _ in range(n)]
    assert row.kappa.value == pytest.approx(cohen_kappa_score(*zip(*given, strict=True)))
    value, low, high = row.kappa
    assert value is not None and low is not None and high is not None and low < value < high
    limits = binomtest(30, 34).proportion_ci(0.95)
    assert row.precision == pytest.approx((30 / 34, limits.low, limits.high))
    for number, of in ((0, 7), (7, 7), (1, 1)):
        limits = binomtest(number, of).proportion_ci(0.95)
        assert exact_share(number, of) == pytest.approx((number / of, limits.low, limits.high))
    assert exact_share(0, 0) == (None, None, None)


@one_database
@pytest.mark.parametrize(
    ("right", "wrong", "trusted"),
    [(72, 0, True), (71, 0, False), (49, 0, False), (110, 1, True), (100, 2, False)],
)
def test_a_type_is_trusted_from_the_lower_limit_on(right: int, wrong: int, trusted: bool) -> None:
    row = type_figures("verbal", {(A, A): right, (A, R): wrong, (R, R): 5})
    assert row.is_trusted() is trusted
    assert row.is_trusted(0.9) is (right > 49)


@one_database
def test_the_calibration_error_is_the_gap_of_each_bin_by_its_size() -> None:
    opinions: Sequence[tuple[float | None, bool]] = [
        *[(1.0, True)] * 6,
        *[(0.95, False)] * 2,
        *[(0.5, True)] * 1,
        *[(0.45, False)] * 1,
        (0.0, False),
        (None, True),
    ]
    found = reliability(opinions)
    assert [(one.low, one.items) for one in found.bins] == [(0.0, 1), (0.4, 2), (0.9, 8)]
    gap = 2 * abs(0.475 - 0.5) + 8 * abs((6 + 1.9) / 8 - 6 / 8)
    assert found.error == pytest.approx(gap / 11) and found.unnamed == 1
    assert reliability([]) == (None, (), 0)
