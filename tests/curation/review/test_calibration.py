"""A judge compared with people on a blind sample, and accepting what a trusted judge accepts."""

from collections import Counter

import pytest

from curation.diagnostics.opinions import show_opinions
from curation.review.calibration import figures
from curation.review.calibration.figures import (
    accept_trusted,
    calibration,
    count_trusted,
    exact_share,
    reliability,
    trust,
    type_figures,
)
from curation.review.calibration.sample import (
    SampleRequest,
    address_name,
    get_sample,
    left_for,
    list_samples,
    sample_at,
    sampled,
    variant_ids,
)
from curation.review.rules import find_matches, parse_rule
from db.models import Decision, ReleaseItem, RunState, Status, Variant, Verdict
from db.runs import create_run, get_run
from tests.curation.review.desk import VERBAL, A, Desk, E, R, refused
from tests.support.databases import both_databases
from tests.support.factories import draw_sample, freeze, judge

VARIANTS = [7 * number + VERBAL for number in range(12)]
"""The verbal variants of twelve families."""


def opine(desk: Desk, name: str, variant_id: int, verdict: Verdict = A, **more: float) -> None:
    desk.opine(desk.write(judge, name), variant_id, verdict, **more)


def draw(desk: Desk, *types: str, **more: object) -> tuple[str, ...]:
    """The uids of a new sample."""
    return desk.write(draw_sample, SampleRequest(types=types, **more)).uids


# -- the sample --------------------------------------------------------------------------------


@pytest.mark.slow
@both_databases
def test_so_many_of_each_type_one_type_after_the_other_chosen_by_the_seed(twelve: Desk) -> None:
    types = {one.uid: one.type_id for one in twelve.rows(Variant)}
    sample = twelve.write(draw_sample, SampleRequest(size=4, types=("word", "verbal")))
    assert [types[uid] for uid in sample.uids] == ["verbal"] * 4 + ["word"] * 4
    every = twelve.write(draw_sample, SampleRequest(size=100))
    assert set(Counter(types[uid] for uid in every.uids).values()) == {12}
    assert [one.id for one in twelve.read(list_samples)] == [every.id, sample.id]
    assert twelve.read(get_run, sample.id).state is RunState.DONE
    one, same, other = (draw(twelve, size=3, each_type=False, seed=seed) for seed in (1, 1, 2))
    assert one == same != other and len(one) == 3


@both_databases
def test_a_sample_leaves_out_variants_with_a_persons_decision_or_without_an_opinion(
    twelve: Desk,
) -> None:
    decided, judged, retired = VARIANTS[:3]
    twelve.decide("Ada", decided)
    twelve.change(retired, retired=True)
    opine(twelve, "fake", judged)
    gone = {twelve.uid(decided), twelve.uid(retired)}
    some = draw(twelve, "verbal")
    assert len(some) == 10 and not gone & set(some)
    assert draw(twelve, judges=("judge: fake, prompt 1",)) == (twelve.uid(judged),)
    twelve.undo("Ada")
    assert len(draw(twelve, "verbal")) == 11


def test_nothing_to_draw_and_unknown_names_are_reported(twelve: Desk) -> None:
    with refused("no sample yet"):
        twelve.read(get_sample)
    with refused("'verb'"):
        draw(twelve, "verb")
    with refused("no.* opinion|opinion"):
        draw(twelve, judges=("judge: x, prompt 1",))
    twelve.change(retired=True)
    with refused("no variants"):
        draw(twelve)
    number = twelve.write(lambda s: create_run(s, kind="judge", parameters={}).id)
    with refused("another kind"):
        twelve.read(get_sample, number)
    for name in (address_name(number), "Xy_sample-1"):
        assert twelve.read(sample_at, name) is None
    assert twelve.read(list_samples) == []


@both_databases
def test_each_person_decides_on_all_of_it_but_on_no_replaced_wording(twelve: Desk) -> None:
    ada, bert = twelve.people("Ada", "Bert")
    sample = twelve.write(draw_sample, SampleRequest(size=3, types=("verbal",)))
    one, two, three = ids = twelve.read(variant_ids, sample)
    twelve.decide("Ada", one)
    twelve.decide("Ada", two, E)
    assert twelve.read(left_for, ids, ada) == {three}
    assert twelve.read(left_for, ids, bert) == {one, three}
    assert twelve.read(sampled, [twelve.get(key) for key in VARIANTS]) == set(ids)
    assert twelve.read(sample_at, address_name(sample.id)) == sample


# -- figures -----------------------------------------------------------------------------------


@pytest.mark.slow
@both_databases
def test_the_verdicts_are_those_of_the_sample_that_people_gave_blind(twelve: Desk) -> None:
    pairs = [(A, A), (A, A), (A, E), (R, R), (R, A), (E, E)]
    for variant_id in VARIANTS[:11]:
        opine(twelve, "fake", variant_id)
    pool = SampleRequest(types=("verbal",), judges=("judge: fake, prompt 1",))
    sample = twelve.write(draw_sample, pool)
    # Another judge is asked after the sample was created.
    for variant_id, (said, own) in zip(VARIANTS, pairs, strict=False):
        opine(twelve, "other", variant_id, said, certainty=0.9)
        twelve.decide("Ada", variant_id, own, blind=True)
    # Not counted: not blind, decided after looking, outside the sample, or undone.
    seen, looked, undone, outside = VARIANTS[6], VARIANTS[7], VARIANTS[8], VARIANTS[11]
    for variant_id in (seen, looked, undone, outside):
        opine(twelve, "other", variant_id, R if variant_id == outside else A)
    twelve.decide("Ada", seen)
    twelve.write(show_opinions, looked, reviewer_id=twelve.who("Ada"), own_first=False)
    twelve.decide("Ada", looked, blind=True)
    twelve.decide("Ada", outside, R, blind=True)
    twelve.decide("Ada", undone, blind=True)
    twelve.undo()
    # If people disagree, the strictest verdict counts.
    twelve.decide("Bert", VARIANTS[0], R, blind=True)
    # A later change of mind does not affect the blind verdict.
    twelve.decide("Ada", VARIANTS[3])
    found = twelve.read(calibration, sample.id)
    assert (dict(found.sampled), dict(found.decided)) == ({"verbal": 11}, {"verbal": 6})
    assert found.disagree == 1
    one = found.judge("judge: other, prompt 1")
    assert one is not None and one.judged == 9
    (row,) = one.types
    assert row.cells == {(A, R): 1, (A, A): 1, (A, E): 1, (R, R): 1, (R, A): 1, (E, E): 1}
    assert (row.items, row.accepted, row.base_rate) == (6, 3, 2 / 6)
    assert (row.precision.value, row.agreement.value) == (1 / 3, 3 / 6)
    assert one.together == row._replace(type_id="all")
    assert one.reliability.error == pytest.approx(0.4)


@pytest.mark.slow
def test_judges_are_ranked_by_kappa(twelve: Desk) -> None:
    draw(twelve, "verbal")
    right = {variant_id: R if number % 2 else A for number, variant_id in enumerate(VARIANTS[:8])}
    other = {A: R, R: A}
    for name, errors in (("bad", 4), ("good", 1), ("fair", 2)):
        for number, (variant_id, verdict) in enumerate(right.items()):
            opine(twelve, name, variant_id, other[verdict] if number < errors else verdict)
    for variant_id, verdict in right.items():
        twelve.decide("Ada", variant_id, verdict, blind=True)
    opine(twelve, "silent", VARIANTS[-1] + 1)
    names = [one.name for one in twelve.read(calibration).judges]
    assert names == [f"judge: {name}, prompt 1" for name in ("good", "fair", "bad")]


@pytest.mark.slow
def test_kappa_and_precision_are_those_of_two_by_two_tables() -> None:
    from scipy.stats import binomtest

    row = type_figures("verbal", {(A, A): 30, (A, R): 4, (R, A): 5, (E, R): 3, (R, R): 8})
    value, low, high = row.kappa
    chance = (34 * 35 + 16 * 15) / 50**2
    assert value == pytest.approx((41 / 50 - chance) / (1 - chance))
    assert value is not None and low is not None and high is not None and low < value < high
    limits = binomtest(30, 34).proportion_ci(0.95)
    assert row.precision == pytest.approx((30 / 34, limits.low, limits.high))
    for number, of in ((0, 7), (7, 7), (1, 1)):
        limits = binomtest(number, of).proportion_ci(0.95)
        assert exact_share(number, of) == pytest.approx((number / of, limits.low, limits.high))
    assert exact_share(0, 0) == (None, None, None)


@pytest.mark.parametrize(
    ("right", "wrong", "trusted"),
    [(72, 0, True), (71, 0, False), (49, 0, False), (110, 1, True), (100, 2, False)],
)
def test_a_type_is_trusted_from_the_lower_limit_on(right: int, wrong: int, trusted: bool) -> None:
    row = type_figures("verbal", {(A, A): right, (A, R): wrong, (R, R): 5})
    assert (row.is_trusted(), row.is_trusted(0.9)) == (trusted, right > 49)


def test_the_calibration_error_is_the_gap_of_each_bin_by_its_size() -> None:
    opinions: list[tuple[float | None, bool]] = [(1.0, True)] * 6
    opinions += [(0.95, False)] * 2
    opinions += [(0.5, True), (0.45, False), (0.0, False), (None, True)]
    found = reliability(opinions)
    assert [(one.low, one.items) for one in found.bins] == [(0.0, 1), (0.4, 2), (0.9, 8)]
    gap = 2 * abs(0.475 - 0.5) + 8 * abs((6 + 1.9) / 8 - 6 / 8)
    assert found.error == pytest.approx(gap / 11) and found.unnamed == 1
    assert reliability([]) == (None, (), 0)


# -- accepting what a trusted judge accepts ----------------------------------------------------

NAME = "judge: a and b, prompt 1"


@pytest.fixture
def judged(twelve: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The judge accepts all verbal variants and half of the hedges. Six families were decided
    blind, the verbal variants accepted and the hedges rejected. Five items are enough."""
    monkeypatch.setattr(figures, "FEWEST", 5)
    for number, verbal in enumerate(VARIANTS):
        opine(twelve, "a and b", verbal)
        opine(twelve, "a and b", verbal + 4, R if number % 2 else A)
    draw(twelve, "verbal", "word", size=12)
    for verbal in VARIANTS[:6]:
        twelve.decide("Ada", verbal, blind=True)
        twelve.decide("Ada", verbal + 4, R, blind=True)
    return twelve


@pytest.mark.slow
@both_databases
def test_only_types_that_qualify_are_accepted_and_undone_together(judged: Desk) -> None:
    before = judged.standings()
    found = judged.read(trust, NAME, precision=0.5)
    assert found.types == ("verbal",) and judged.read(count_trusted, found) == {"verbal": 6}
    done = accept_trusted(judged.engine, found, reviewer_id=judged.who("Ada"))
    assert (done.matches.by_type, done.matches.unmeasured) == ({"verbal": 6}, 0)
    (note,) = {row.note for row in judged.rows(Decision) if row.action_id == done.action_id}
    for fact in ("Rule: accepted by", NAME, "100.0%", "54.1%", "6 accepted"):
        assert fact in note
    after = {key: one.status for key, one in judged.standings().items()}
    expected = {key: one.status for key, one in before.items()}
    assert after == expected | dict.fromkeys(VARIANTS, Status.ACCEPTED)
    judged.write(freeze)
    decided = Counter(item.provenance["decided_by"] for item in judged.rows(ReleaseItem))
    assert decided == {"person": 6, "rule": 6}
    judged.undo("Ada")
    assert judged.standings() == before


@pytest.mark.slow
def test_types_that_do_not_qualify_are_refused(judged: Desk) -> None:
    with refused("No type qualifies"):
        judged.read(trust, NAME)
    with refused(r"\(verbal\).*'word'"):
        judged.read(trust, NAME, types=["word"], precision=0.5)
    with refused("name of a judge"):
        judged.read(trust, "judge: other, prompt 1")


@both_databases
def test_a_rule_may_name_a_judge(twelve: Desk) -> None:
    opine(twelve, "c", VERBAL)
    found = twelve.read(find_matches, parse_rule("accepted by judge: c, prompt 1"))
    assert (found.by_type, found.unmeasured) == ({"verbal": 1}, 0)
    rejected = parse_rule("Rejected by judge: c, prompt 1")
    assert twelve.read(find_matches, rejected).total == 0
    with refused("name of a judge"):
        twelve.read(find_matches, parse_rule("accepted by someone"))
