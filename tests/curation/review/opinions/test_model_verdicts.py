"""Switching models' verdicts on and off: status and setting always agree."""

import random

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import shown
from curation.review.decisions import compute_standing
from curation.review.opinions import model_verdicts
from curation.review.opinions.model_verdicts import (
    apply_switch,
    find_model,
    model_reviewers,
    plan_switch,
)
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Reviewer, Status, Variant
from db.runs import create_run
from db.settings import load_settings
from tests.curation.review.test_actions import random_action
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, model, person

pytestmark = both_databases


def kept(session: Session) -> dict[int, Standing]:
    rows = session.execute(select(Variant)).scalars()
    return {v.id: Standing(v.status, v.second_look, v.model_only) for v in rows}


def decide(engine: Engine, variant_id: int, who: int, *, good: bool = True) -> None:
    with writing(engine) as session:
        card = shown(session.get_one(Variant, variant_id))
        if good:
            actions.accept(session, card, reviewer_id=who)
        else:
            actions.reject(session, card, reviewer_id=who, reason="wrong_scope")


@pytest.fixture
def judge(engine: Engine) -> int:
    """A model that accepted variants 1 to 3 and rejected 4; Ada has rejected 1."""
    with writing(engine) as session:
        add_family(session)
        judge, ada = model(session), person(session)
    for variant_id in range(1, 5):
        decide(engine, variant_id, judge, good=variant_id < 4)
    decide(engine, 1, ada, good=False)
    return judge


def switch(engine: Engine, judge: int, *, counts: bool) -> int:
    with writing(engine) as session:
        return apply_switch(session, plan_switch(session, judge, counts=counts))


def test_the_effect_of_a_switch_is_known_before(engine: Engine, judge: int) -> None:
    with reading(engine) as session:
        assert model_reviewers(session) == [(judge, "llm", True, 4)]
        before = kept(session)
        plan = plan_switch(session, judge, counts=False)
        assert plan.statuses == {
            (Status.ACCEPTED, Status.PENDING): 2,
            (Status.REJECTED, Status.PENDING): 1,
        }
        assert kept(session) == before
    assert switch(engine, judge, counts=False) == plan.total == 3
    with reading(engine) as session:
        assert {key for key, now in kept(session).items() if now != before[key]} == {2, 3, 4}
        assert not session.get_one(Reviewer, judge).counts


def test_a_persons_verdict_stays_valid_and_switching_back_restores_the_rest(
    engine: Engine, judge: int
) -> None:
    with reading(engine) as session:
        before = kept(session)
    switch(engine, judge, counts=False)
    with reading(engine) as session:
        assert kept(session)[1].status == Status.REJECTED
    switch(engine, judge, counts=True)
    with reading(engine) as session:
        assert kept(session) == before


def test_decisions_between_counting_and_switching_are_counted(engine: Engine, judge: int) -> None:
    with writing(engine) as session:
        bert = person(session, "Bert")
        plan = plan_switch(session, judge, counts=False)
    decide(engine, 2, bert, good=False)
    decide(engine, 5, judge)
    with writing(engine) as session:
        apply_switch(session, plan)
    with reading(engine) as session:
        now = kept(session)
        assert (now[2].status, now[5].status) == (Status.REJECTED, Status.PENDING)
        assert now == compute_standing(session, list(now))


def test_two_switches_at_once_do_not_mix(engine: Engine, judge: int) -> None:
    with writing(engine) as session:
        other = model(session, "another")
    decide(engine, 2, other, good=False)
    with reading(engine) as session:
        plan = plan_switch(session, judge, counts=False)
    switch(engine, other, counts=False)
    with pytest.raises(HedgerowError, match="try again"), writing(engine) as session:
        apply_switch(session, plan)
    with reading(engine) as session:
        assert session.get_one(Reviewer, judge).counts
        assert kept(session) == compute_standing(session, list(kept(session)))


def test_a_large_switch_is_a_run(engine: Engine, judge: int) -> None:
    with writing(engine) as session:
        parameters = {"reviewer": judge, "counts": False}
        run_id = create_run(session, kind=model_verdicts.KIND, parameters=parameters).id
    done = execute(engine, load_settings(), run_id, {model_verdicts.KIND: model_verdicts.work})
    assert done == {"variants": 3}
    with reading(engine) as session:
        assert not find_model(session, "llm").counts


@one_database
def test_a_person_cannot_be_switched_off(engine: Engine, judge: int) -> None:
    with reading(engine) as session, pytest.raises(HedgerowError, match="no model reviewer 'Ada'"):
        find_model(session, "Ada")


@pytest.mark.parametrize("seed", range(2))
def test_the_kept_status_equals_the_recomputed_one_after_any_switch(
    engine: Engine, seed: int
) -> None:
    dice = random.Random(seed)
    with writing(engine) as session:
        add_family(session)
        models = [model(session), model(session, "another")]
        reviewers = [person(session), person(session, "Bert"), *models, *models]
    for _ in range(25):
        with writing(engine) as session:
            random_action(session, dice, reviewers)
        if dice.random() < 0.4:
            switch(engine, dice.choice(models), counts=dice.random() < 0.5)
        with reading(engine) as session:
            assert kept(session) == compute_standing(session, list(kept(session)))
