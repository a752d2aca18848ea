"""A sample: chosen by its seed from variants without a person's decision, and always seen blind."""

from collections import Counter

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.review import actions
from curation.review.actions import shown
from curation.review.calibration.sample import (
    Sample,
    SampleRequest,
    address_name,
    get_sample,
    left_for,
    list_samples,
    sample_at,
    sampled,
    variant_ids,
)
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import RunState, Variant
from db.runs import create_run, get_run
from tests.support.databases import both_databases
from tests.support.factories import add_family, add_opinion, draw_sample, judge, person

pytestmark = both_databases


@pytest.fixture
def families(engine: Engine) -> Engine:
    """Ten anchors with a variant of each of the seven types."""
    with writing(engine) as session:
        for number in range(10):
            add_family(session, f"Bridge {number} is safe.", subject=f"bridge {number}")
    return engine


def types_of(session: Session, sample: Sample) -> list[str]:
    types = dict(session.execute(select(col(Variant.uid), col(Variant.type_id))).all())
    return [types[uid] for uid in sample.uids]


def test_so_many_of_each_type_one_type_after_the_other(families: Engine) -> None:
    with writing(families) as session:
        sample = draw_sample(session, SampleRequest(size=4, types=("word", "verbal")))
        assert types_of(session, sample) == ["verbal"] * 4 + ["word"] * 4
        every = draw_sample(session, SampleRequest(size=100))
        assert set(Counter(types_of(session, every)).values()) == {10}
        assert [one.id for one in list_samples(session)] == [every.id, sample.id]
        assert get_run(session, sample.id).state is RunState.DONE


def test_the_seed_decides_and_nothing_else(families: Engine) -> None:
    with writing(families) as session:
        request = SampleRequest(size=3, each_type=False, seed=1)
        one, same = (draw_sample(session, request) for _ in range(2))
        other = draw_sample(session, request.model_copy(update={"seed": 2}))
        assert one.uids == same.uids != other.uids and len(one.uids) == 3


def test_a_sample_leaves_out_variants_with_a_persons_decision_or_without_an_opinion(
    families: Engine,
) -> None:
    with writing(families) as session:
        verbal = session.execute(
            select(Variant).where(col(Variant.type_id) == "verbal").order_by(col(Variant.id))
        ).scalars()
        decided, judged, retired, *_ = list(verbal)
        actions.accept(session, shown(decided), reviewer_id=person(session))
        retired.retired = True
        add_opinion(session, judged, reviewer_id=judge(session))
        some = draw_sample(session, SampleRequest(types=("verbal",)))
        assert len(some.uids) == 8 and not {decided.uid, retired.uid} & set(some.uids)
        of_judge = SampleRequest(judges=("judge: fake, prompt 1",))
        assert draw_sample(session, of_judge).uids == (judged.uid,)
        actions.undo(session, reviewer_id=person(session))
        assert len(draw_sample(session, SampleRequest(types=("verbal",))).uids) == 9


def test_nothing_to_draw_and_unknown_names_are_reported(families: Engine) -> None:
    with writing(families) as session:
        with pytest.raises(HedgerowError, match="no sample yet"):
            get_sample(session)
        with pytest.raises(HedgerowError, match="variant type"):
            draw_sample(session, SampleRequest(types=("verb",)))
        with pytest.raises(HedgerowError, match="none has given an opinion yet"):
            draw_sample(session, SampleRequest(judges=("judge: x, prompt 1",)))
        for variant in session.execute(select(Variant)).scalars():
            variant.retired = True
        with pytest.raises(HedgerowError, match="no variants to sample from"):
            draw_sample(session, SampleRequest())
        number = create_run(session, kind="judge", parameters={}).id
        with pytest.raises(HedgerowError, match="is of another kind"):
            get_sample(session, number)
        assert sample_at(session, address_name(number)) is None
        assert list_samples(session) == []


def test_each_person_decides_on_all_of_it_but_on_no_replaced_wording(families: Engine) -> None:
    with writing(families) as session:
        ada, bert = person(session), person(session, "Bert")
        sample = draw_sample(session, SampleRequest(size=3, types=("verbal",)))
        one, two, three = variant_ids(session, sample)
        actions.accept(session, shown(session.get_one(Variant, one)), reviewer_id=ada)
        variant = session.get_one(Variant, two)
        actions.edit(session, shown(variant), reviewer_id=ada, text=f"{variant.text} Really.")
        assert left_for(session, [one, two, three], ada) == {three}
        assert left_for(session, [one, two, three], bert) == {one, three}
    with reading(families) as session:
        some = session.execute(select(Variant).where(col(Variant.type_id) == "verbal")).scalars()
        assert sampled(session, list(some)) == {one, two, three}
        assert sample_at(session, address_name(sample.id)) == sample
        assert sample_at(session, "Xy_sample-1") is None
