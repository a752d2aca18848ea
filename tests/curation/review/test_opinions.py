"""Second opinions and models' verdicts: when they count, who sees them, and how often people
agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.decisions.history import history
from curation.diagnostics import model_verdicts
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import measure_variants
from curation.diagnostics.model_verdicts import (
    Agreement,
    agreement,
    apply_switch,
    find_model,
    plan_switch,
    together,
    verdict_counts,
)
from curation.diagnostics.opinions import (
    counting_judges,
    has_opinions,
    judge_name,
    judges,
    model_reviewers,
    opinions_of,
    show_opinions,
)
from curation.diagnostics.queue_order import ModelVerdict, opinion_priority
from curation.release.summary import review_summary
from curation.review.queue import Order, next_variant
from db.execution import execute
from db.models import OpinionLook, Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.curation.review.desk import VERBAL, WORD, A, Desk, E, R, Verdict, refused
from tests.support.databases import both_databases
from tests.support.factories import judge, model


def look(desk: Desk, who: str, variant_id: int, *, own_first: bool = False) -> list[object]:
    more = {"reviewer_id": desk.who(who), "own_first": own_first}
    return list(desk.write(show_opinions, variant_id, **more))


# -- opinions ----------------------------------------------------------------------------------


@pytest.fixture
def who(desk: Desk) -> int:
    """A model that accepts variants 1 to 3 and, with less certainty, would edit 4."""
    # A model that reviews without giving opinions, and a person. Neither is a judge.
    desk.decide(desk.write(model, "reviewing"), 7)
    desk.decide("Cleo", 7)
    number = desk.write(judge)
    for variant_id in range(1, 4):
        desk.opine(number, variant_id)
    desk.opine(number, 4, E, certainty=0.4, suggestion="The bridge is hazardous.")
    return number


@pytest.mark.slow
@both_databases
def test_an_opinion_changes_nothing_until_it_is_switched_on(desk: Desk, who: int) -> None:
    assert {(one.status, one.version) for one in desk.rows(Variant)[:6]} == {(Status.PENDING, 1)}
    assert desk.read(has_opinions)
    assert desk.read(judges) == [(who, "judge: fake, prompt 1", False, 4)]
    desk.write(model_verdicts.switch, who, counts=True)
    statuses = [one.status for one in desk.standings().values()]
    assert statuses[:5] == ["accepted"] * 3 + ["rejected", "pending"]
    desk.opine(who, 5, R)
    desk.decide("Ada", 1, R)  # a person outranks it
    assert (desk.status(5), desk.status(1)) == (Status.REJECTED, Status.REJECTED)


@both_databases
def test_the_same_wording_is_judged_once_by_a_reviewer(desk: Desk, who: int) -> None:
    assert not desk.opine(who, 1, R)
    assert desk.opine(desk.write(judge, "other"), 1, R)
    assert [one.verdict for one in desk.read(opinions_of, 1)] == [R, A]
    desk.correct(1)
    assert (desk.read(opinions_of, 1), desk.get(1).doubt) == ([], 0)
    assert desk.opine(who, 1, R)
    assert [one.verdict for one in desk.read(opinions_of, 1)] == [R]


@pytest.mark.slow
def test_nobody_sees_an_opinion_without_asking(desk: Desk, who: int) -> None:
    card = desk.card(4)
    assert desk.read(history, 4) == []
    desk.opine(desk.write(judge, "meanwhile"), 4)
    desk.decide("Bert", 4, R, reason="wrong_type")
    assert desk.decide("Ada", card, R, reason="wrong_type").overtaken == ("Bert",)
    assert [past.reviewer for past in desk.read(history, 4)] == ["Bert", "Ada"]
    summary = desk.read(lambda session: review_summary(session.connection()))
    assert summary["reasons"]["rejected"] == {"wrong_type": 1}
    desk.write(model_verdicts.switch, who, counts=True)
    assert [past.reviewer for past in desk.read(history, 4)] == ["Bert", "Ada"]
    assert desk.read(counting_judges, 4) == ["judge: fake, prompt 1"]


@both_databases
def test_looking_is_recorded_and_refused_before_a_blind_verdict(desk: Desk, who: int) -> None:
    with refused("after you have decided"):
        look(desk, "Ada", 4, own_first=True)
    assert desk.rows(OpinionLook) == []
    desk.decide("Ada", 4)
    (found,) = desk.write(show_opinions, 4, reviewer_id=desk.who("Ada"), own_first=True)
    assert look(desk, "Ada", 4) == [found]
    said = (found.verdict, found.reason, found.suggestion, found.certainty)
    assert said == (E, "wrong_scope", "The bridge is hazardous.", 0.4)
    assert look(desk, "Ada", 7) == []
    looks = [(one.reviewer_id, one.variant_id) for one in desk.rows(OpinionLook)]
    assert looks == [(desk.who("Ada"), 4)]


def test_a_long_model_name_still_names_a_reviewer() -> None:
    name = judge_name("a" * 200, 12)
    assert len(name) == 80 and name.endswith(", prompt 12") and "a…" in name
    assert name != judge_name("a" * 201, 12)
    assert judge_name("fake", 1) != judge_name("fake", 2)


# -- switching verdicts of models on and off ---------------------------------------------------


@pytest.fixture
def llm(desk: Desk) -> int:
    """A model that accepted variants 1 to 3 and rejected 4; Ada has rejected 1."""
    llm = desk.write(model)
    for variant_id, verdict in ((1, A), (2, A), (3, A), (4, R)):
        desk.decide(llm, variant_id, verdict)
    desk.decide("Ada", 1, R)
    return llm


@both_databases
def test_the_effect_of_a_switch_is_known_before_and_reversible(desk: Desk, llm: int) -> None:
    assert desk.read(model_reviewers) == [(llm, "llm", True, 4)]
    before = desk.standings()
    plan = desk.read(plan_switch, llm, counts=False)
    assert plan.statuses == {
        (Status.ACCEPTED, Status.PENDING): 2,
        (Status.REJECTED, Status.PENDING): 1,
    }
    assert desk.standings() == before
    assert desk.write(apply_switch, plan) == plan.total == 3
    now = desk.standings()
    assert {key for key in now if now[key] != before[key]} == {2, 3, 4}
    assert not desk.read(find_model, "llm").counts
    desk.write(model_verdicts.switch, llm, counts=True)
    assert desk.standings() == before
    with refused("Ada"):
        desk.read(find_model, "Ada")


@both_databases
def test_decisions_between_counting_and_switching_are_counted(desk: Desk, llm: int) -> None:
    plan = desk.read(plan_switch, llm, counts=False)
    desk.decide("Bert", 2, R)
    desk.decide(llm, 5)
    desk.write(apply_switch, plan)
    assert (desk.status(2), desk.status(5)) == (Status.REJECTED, Status.PENDING)


def test_two_switches_at_once_do_not_mix(desk: Desk, llm: int) -> None:
    other = desk.write(model, "another")
    desk.decide(other, 2, R)
    plan = desk.read(plan_switch, llm, counts=False)
    desk.write(model_verdicts.switch, other, counts=False)
    with refused("try again"):
        desk.write(apply_switch, plan)
    assert desk.read(find_model, "llm").counts
    desk.standings()


def test_a_large_switch_is_a_run(desk: Desk, llm: int) -> None:
    parameters = {"reviewer": llm, "counts": False}
    run_id = desk.write(lambda s: create_run(s, kind=model_verdicts.KIND, parameters=parameters).id)
    done = execute(desk.engine, load_settings(), run_id, {model_verdicts.KIND: model_verdicts.work})
    assert (done, desk.read(find_model, "llm").counts) == ({"variants": 3}, False)
    desk.standings()


# -- doubt -------------------------------------------------------------------------------------

SAID = st.builds(
    ModelVerdict, st.sampled_from([A, R, E]), st.none() | st.floats(0, 1, allow_nan=False)
)


@pytest.mark.parametrize(
    ("said", "flags", "doubt"),
    [
        ([], Flag(0), 0),
        ([(A, 0.75)], Flag(0), 0.25),
        ([(A, None)], None, 0.5),
        ([(A, 0.75)], Flag.WRONG_SURFACE, 0.625),
        ([(A, 0.75)], Flag.OVER_THRESHOLD | Flag.ANCHOR_NOT_AFFIRMATIVE, 0.25),
        ([(E, 0.75)], Flag(0), 0.625),
        ([(R, 0.75)], Flag.WRONG_SURFACE, 0.25),
        ([(R, 0.75)], None, 0.25),
        ([(A, 1.0), (R, 0.5)], None, 0.625),
        ([(E, 1.0), (R, 0.5)], None, 0.25),
    ],
)
def test_doubt_by_hand(said: list[tuple[Verdict, float]], flags: Flag, doubt: float) -> None:
    assert opinion_priority([ModelVerdict(*one) for one in said], flags) == doubt


@given(st.lists(SAID, max_size=4), st.none() | st.integers(0, 127).map(Flag))
def test_doubt_is_between_0_and_1_and_certainty_lowers_it(
    verdicts: list[ModelVerdict], flags: Flag | None
) -> None:
    found = opinion_priority(verdicts, flags)
    surer = opinion_priority([one._replace(certainty=1.0) for one in verdicts], flags)
    assert 0 <= surer <= found <= 1


@both_databases
def test_the_queue_begins_with_the_most_doubtful_and_measuring_may_change_it(desk: Desk) -> None:
    who = desk.write(judge)
    desk.change(WORD, text="The bridge is safe, they say.")  # without its cue
    desk.opine(who, VERBAL, certainty=0.7)
    desk.opine(who, WORD, certainty=0.9)
    heads = []
    for measured in ([], [VERBAL, WORD]):
        desk.write(measure_variants, measured)
        head = desk.read(next_variant, type_ids=["verbal", "word"], order=Order.DOUBTFUL)
        heads.append(head and (head.id, head.doubt))
    assert heads == [(VERBAL, 1 - 0.7), (WORD, pytest.approx(0.55))]


# -- agreement with people ---------------------------------------------------------------------


@pytest.mark.slow
@both_databases
def test_agreement_by_hand(desk: Desk) -> None:
    """Eight anchors, with the verdicts of the model and Ada on each of two types."""
    verbal = [(A, A), (A, A), (A, R), (R, A), (E, E), (R, E), (R, R), (A, None)]
    word = [(A, A), (R, A), (A, R), (None, A), (A, A), (A, A), (A, A), (R, R)]
    who = desk.write(judge)
    families = desk.families(8)
    for family, pairs in zip(families, zip(verbal, word, strict=True), strict=True):
        for type_id, (said, own) in zip(("verbal", "word"), pairs, strict=True):
            if said is not None:
                desk.opine(who, family[type_id], said)
            if own is not None:
                desk.decide("Ada", family[type_id], own)
    # The latest verdict counts: Ada changes her mind, then undoes that; Bert agrees with the model.
    last = families[-1]["word"]
    desk.decide("Ada", last)
    desk.undo()
    desk.decide("Bert", last, R)
    # Two do not count: one decided after looking, and one on an earlier text of the anchor.
    desk.opine(who, VERBAL)
    look(desk, "Ada", VERBAL)
    desk.decide("Ada", VERBAL)
    old = desk.family("A path is safe.", subject="path")["verbal"]
    desk.opine(who, old)
    desk.decide("Ada", old)
    desk.correct(old, "A wide path is safe.")
    look(desk, "Ada", last, own_first=True)  # after one's own verdict, this changes nothing
    rows = desk.read(agreement, who)
    assert rows == [Agreement("verbal", 2, 1, 1, 3, 1), Agreement("word", 4, 1, 1, 2, 0)]
    assert desk.read(verdict_counts, who) == {A: 11, R: 5, E: 1}
    assert [row.share for row in rows] == [5 / 7, 6 / 8]
    # 7 pairs: both accept 3 of 7, so (9 + 16) / 49 agree by chance.
    assert rows[0].kappa == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert together(rows) == Agreement("all", 6, 2, 2, 5, 1)


def test_kappa_is_left_open_if_it_is_not_defined() -> None:
    assert Agreement("verbal").kappa is None and Agreement("verbal").share is None
    assert Agreement("verbal", both=5).kappa is None
    assert Agreement("verbal", both=5, model_only=1).kappa == 0
