"""The anchors and types that a run asks for, and that counting them gives the same numbers."""

import itertools

import pytest
from sqlalchemy import Engine

from curation.generation.calls import open_calls
from curation.generation.missing_variants import count_wanted, wanted_anchors
from curation.generation.request import AnchorSelection, GenerationRequest, Which
from curation.review import actions
from curation.taxonomy.project_types import list_types
from db.columns import now
from db.engine import reading, writing
from db.models import CallState, ModelCall
from tests.curation.generation.test_calls import planned
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_anchor, add_family, add_variant, person

pytestmark = both_databases


def wanted(
    engine: Engine, selection: AnchorSelection, *, seed: int = 0, roles=("negation", "hedge")
):
    with reading(engine) as session:
        found = wanted_anchors(session, selection, roles, list_types(session), seed=seed)
    return {role: [(a.anchor_id, a.type_ids) for a in some] for role, some in found.items()}


ALL_NEGATIONS = ("verbal", "absolute", "affixal", "lexical")


def test_only_what_an_anchor_lacks_is_asked_for(engine: Engine) -> None:
    with writing(engine) as session:
        bare, partly, retired = (
            add_anchor(session, f"The {x} is safe.") for x in ("road", "wall", "mill")
        )
        retired.retired_at = now()
        add_variant(session, partly, "verbal")
        rejected = add_variant(session, partly, "lexical")
        actions.reject(
            session, actions.shown(rejected), reviewer_id=person(session), reason="meaning_changed"
        )
    assert wanted(engine, AnchorSelection()) == {
        "negation": [(bare.id, ALL_NEGATIONS)],
        "hedge": [(bare.id, ("word", "phrase")), (partly.id, ("word", "phrase"))],
    }
    assert wanted(engine, AnchorSelection(which=Which.SLOTS))["negation"] == [
        (bare.id, ALL_NEGATIONS),
        (partly.id, ("absolute", "affixal", "lexical")),
    ]


@one_database
def test_a_limit_counts_anchors_and_is_sampled_by_the_seed(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(50):
            add_anchor(session, f"The bridge number {n} is safe.")
    some = wanted(engine, AnchorSelection(limit=10), seed=1)
    assert [a for a, _ in some["negation"]] == [a for a, _ in some["hedge"]]
    assert len(some["hedge"]) == 10
    assert some == wanted(engine, AnchorSelection(limit=10), seed=1)
    assert some != wanted(engine, AnchorSelection(limit=10), seed=2)
    more = wanted(engine, AnchorSelection(limit=20), seed=1)
    assert set(some["hedge"]) < set(more["hedge"]), "a trial is part of the larger sample"


def test_a_search_takes_its_words_literally(engine: Engine) -> None:
    with writing(engine) as session:
        share = add_anchor(session, "The share rose by 5% today.")
        add_anchor(session, "The share rose by 50 today.")
    assert wanted(engine, AnchorSelection(search="5% TODAY"))["hedge"] == [
        (share.id, ("word", "phrase"))
    ]


@one_database
def test_failed_calls_of_a_run_can_be_repeated_alone(engine: Engine) -> None:
    with writing(engine) as session:
        anchors = [add_anchor(session, f"The bridge number {n} is safe.") for n in range(4)]
    run_id = planned(engine, GenerationRequest(model="fake", roles=("hedge",)))
    with writing(engine) as session:
        first, second = open_calls(session, run_id)[:2]
        session.get_one(ModelCall, first.id).state = CallState.FAILED
        session.get_one(ModelCall, second.id).problem = "type missing"
    again = AnchorSelection(which=Which.FAILED, run=run_id)
    assert [a for a, _ in wanted(engine, again, roles=("hedge",))["hedge"]] == [
        anchors[0].id,
        anchors[1].id,
    ]


ROLES = ("negation", "hedge", "paraphrase")


@pytest.mark.parametrize("which", [Which.WITHOUT, Which.SLOTS, Which.FAILED])
def test_counting_tells_what_planning_finds(engine: Engine, which: Which) -> None:
    with writing(engine) as session:
        add_family(session, "The bridge is full.")
        for number in range(6):
            partly = add_anchor(session, f"The road {number} is safe.")
            variant = add_variant(session, partly, ("verbal", "word")[number % 2])
            if number < 3:
                actions.reject(
                    session,
                    actions.shown(variant),
                    reviewer_id=person(session),
                    reason="meaning_changed",
                )
            add_anchor(session, f"The wall {number} is safe.").genre = "bare"
    run = planned(engine, GenerationRequest(model="fake")) if which is Which.FAILED else None
    if run:
        with writing(engine) as session:
            for call in open_calls(session, run)[::3]:
                session.get_one(ModelCall, call.id).state = CallState.FAILED
    for limit, roles in itertools.product((None, 5), (ROLES, ("hedge",), ())):
        selection = AnchorSelection(which=which, run=run, limit=limit)
        found = wanted(engine, selection, roles=roles, seed=3)
        with reading(engine) as session:
            counted = count_wanted(session, selection, roles, seed=3)
        assert counted.calls == {role: len(some) for role, some in found.items()}
        assert counted.anchors == len({key for some in found.values() for key, _ in some})
