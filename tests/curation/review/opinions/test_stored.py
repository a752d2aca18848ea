"""Second opinions: they change nothing by themselves, and nobody sees one without asking."""

import random

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.changes import correct_anchor
from curation.release.summary import review_summary
from curation.review import actions
from curation.review.actions import shown
from curation.review.decisions import compute_standing, counts_still
from curation.review.history import history, not_retracted
from curation.review.opinions.model_verdicts import apply_switch, plan_switch
from curation.review.opinions.stored import (
    counting_judges,
    has_opinions,
    judge_name,
    judges,
    opinions_of,
    show_opinions,
)
from curation.review.people.reviewers import ensure_reviewer
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import (
    Decision,
    OpinionLook,
    Reviewer,
    ReviewerKind,
    Status,
    Variant,
    Verdict,
)
from tests.curation.review.test_actions import random_action
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family, add_opinion, judge, person

pytestmark = both_databases


def kept(session: Session) -> dict[int, Standing]:
    rows = session.execute(select(Variant)).scalars()
    return {v.id: Standing(v.status, v.second_look, v.model_only) for v in rows}


def switch(engine: Engine, reviewer_id: int, *, counts: bool) -> None:
    with writing(engine) as session:
        apply_switch(session, plan_switch(session, reviewer_id, counts=counts))


@pytest.fixture
def who(engine: Engine) -> int:
    """A model that accepts variants 1 to 3 and, with less certainty, would edit 4."""
    with writing(engine) as session:
        add_family(session)
        # A model that reviews without giving opinions, and a person. Neither is a judge.
        reviewing = ensure_reviewer(session, "reviewing", kind=ReviewerKind.MODEL).id
        for own in (reviewing, person(session, "Cleo")):
            actions.accept(session, shown(session.get_one(Variant, 7)), reviewer_id=own)
        number = judge(session)
        for key in range(1, 4):
            add_opinion(session, session.get_one(Variant, key), reviewer_id=number)
        add_opinion(
            session,
            session.get_one(Variant, 4),
            Verdict.EDIT,
            reviewer_id=number,
            certainty=0.4,
            suggestion="The bridge is hazardous.",
        )
    return number


def test_an_opinion_changes_neither_status_nor_version(engine: Engine, who: int) -> None:
    with reading(engine) as session:
        for number in range(1, 7):
            variant = session.get_one(Variant, number)
            assert (variant.status, variant.version) == (Status.PENDING, 1)
        assert has_opinions(session)
        assert judges(session) == [(who, "judge: fake, prompt 1", False, 4)]


def test_switched_on_it_counts_and_its_edit_is_a_rejection(engine: Engine, who: int) -> None:
    switch(engine, who, counts=True)
    with reading(engine) as session:
        found = {key: standing.status for key, standing in kept(session).items()}
        assert [found[key] for key in range(1, 5)] == ["accepted"] * 3 + ["rejected"]
        assert found[5] is Status.PENDING and len(found) == 7
    with writing(engine) as session:
        add_opinion(session, session.get_one(Variant, 5), Verdict.REJECT, reviewer_id=who)
        card = shown(session.get_one(Variant, 1))
        ada = person(session)
        actions.reject(session, card, reviewer_id=ada, reason="wrong_type")
    with reading(engine) as session:
        assert session.get_one(Variant, 5).status is Status.REJECTED
        assert session.get_one(Variant, 1).status is Status.REJECTED  # a person outranks it


@pytest.mark.parametrize("seed", range(2))
def test_no_history_is_changed_by_opinions_until_they_count(engine: Engine, seed: int) -> None:
    """Random histories with opinions of two models, which are switched on and off at times."""
    dice = random.Random(seed)
    with writing(engine) as session:
        add_family(session)
        people = [person(session), person(session, "Bert")]
        models = [judge(session), judge(session, "another")]
    for _ in range(15):
        with writing(engine) as session:
            random_action(session, dice, people)
        with writing(engine) as session:
            before = kept(session)
            variant = dice.choice(session.execute(select(Variant)).scalars().all())
            who = dice.choice(models)
            counts = session.get_one(Reviewer, who).counts
            verdict = dice.choice([Verdict.ACCEPT, Verdict.REJECT, Verdict.EDIT])
            version = variant.version
            add_opinion(session, variant, verdict, reviewer_id=who, certainty=dice.random())
            session.expire_all()
            if not counts:
                assert kept(session) == before and variant.version == version
        if dice.random() < 0.2:
            with reading(engine) as session:
                before, persons = kept(session), decided_by_people(session)
            switch(engine, dice.choice(models), counts=dice.random() < 0.5)
            with reading(engine) as session:
                after = kept(session)
                assert {key: after[key] for key in persons} == {key: before[key] for key in persons}
        with reading(engine) as session:
            assert kept(session) == compute_standing(session, list(kept(session)))


def decided_by_people(session: Session) -> set[int]:
    """The variants with a person's valid verdict."""
    query = (
        select(col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .where(col(Reviewer.kind) == ReviewerKind.PERSON, not_retracted(), counts_still())
    )
    return set(session.execute(query).scalars())


def test_the_same_wording_is_judged_once_by_a_reviewer(engine: Engine, who: int) -> None:
    with writing(engine) as session:
        variant = session.get_one(Variant, 1)
        assert not add_opinion(session, variant, Verdict.REJECT, reviewer_id=who)
        assert add_opinion(session, variant, Verdict.REJECT, reviewer_id=judge(session, "other"))
        assert [o.verdict for o in opinions_of(session, 1)] == ["reject", "accept"]
        correct_anchor(
            session,
            variant.anchor_id,
            "The old bridge is safe.",
            reviewer_id=person(session),
            expected_revision=1,
        )
        session.expire_all()
        assert opinions_of(session, 1) == [] and variant.doubt == 0
        assert add_opinion(session, variant, Verdict.REJECT, reviewer_id=who)
        assert [o.verdict for o in opinions_of(session, 1)] == ["reject"]


@one_database
def test_nobody_sees_an_opinion_without_asking(engine: Engine, who: int) -> None:
    with writing(engine) as session:
        ada, bert = person(session), person(session, "Bert")
        card = shown(session.get_one(Variant, 4))
        assert history(session, 4) == []
        add_opinion(session, session.get_one(Variant, 4), reviewer_id=judge(session, "meanwhile"))
        bert_s = shown(session.get_one(Variant, 4))
        actions.reject(session, bert_s, reviewer_id=bert, reason="wrong_type")
        done = actions.reject(session, card, reviewer_id=ada, reason="wrong_type")
        assert done.overtaken == ("Bert",)
        assert [past.reviewer for past in history(session, 4)] == ["Bert", "Ada"]
        assert review_summary(session.connection())["reasons"]["rejected"] == {"wrong_type": 1}
    switch(engine, who, counts=True)
    with reading(engine) as session:
        assert [past.reviewer for past in history(session, 4)] == ["Bert", "Ada"]
        assert counting_judges(session, 4) == ["judge: fake, prompt 1"]


@one_database
def test_looking_is_recorded_and_refused_before_a_blind_verdict(engine: Engine, who: int) -> None:
    with writing(engine) as session:
        ada = person(session)
        with pytest.raises(HedgerowError, match="after you have decided"):
            show_opinions(session, 4, reviewer_id=ada, own_first=True)
        assert session.execute(select(OpinionLook)).first() is None
        actions.accept(session, shown(session.get_one(Variant, 4)), reviewer_id=ada)
        (found,) = show_opinions(session, 4, reviewer_id=ada, own_first=True)
        assert show_opinions(session, 4, reviewer_id=ada, own_first=False) == [found]
        assert (found.verdict, found.reason, found.suggestion, found.certainty) == (
            Verdict.EDIT,
            "wrong_scope",
            "The bridge is hazardous.",
            0.4,
        )
        assert show_opinions(session, 7, reviewer_id=ada, own_first=False) == []
        stored_looks = session.execute(select(OpinionLook)).scalars().all()
        assert [(seen.reviewer_id, seen.variant_id) for seen in stored_looks] == [(ada, 4)]


def test_a_long_model_name_still_names_a_reviewer() -> None:
    name = judge_name("a" * 200, 12)
    assert len(name) == 80 and name.endswith(", prompt 12") and "a…" in name
    assert name != judge_name("a" * 201, 12)
    assert judge_name("fake", 1) != judge_name("fake", 2)
