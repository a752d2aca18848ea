"""Which anchors a run asks about, and for which types."""

import pytest
from sqlalchemy import Engine

from curation import review
from curation.generation.calls import (
    count_calls,
    cue_use,
    open_calls,
    plan_calls,
    wanted_anchors,
)
from curation.generation.prompts import prompt_versions, seed_prompts
from curation.generation.request import GenerationRequest, Selection, Which
from curation.types import list_types
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import CallState, ModelCall
from db.runs import create_run
from tests.factories import add_anchor, add_variant, person


def wanted(engine: Engine, selection: Selection, *, seed: int = 0, roles=("negation", "hedge")):
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
        review.reject(session, review.shown(rejected), reviewer_id=person(session),
                      reason="meaning_changed")  # fmt: skip
    assert wanted(engine, Selection()) == {
        "negation": [(bare.id, ALL_NEGATIONS)],
        "hedge": [(bare.id, ("word", "phrase")), (partly.id, ("word", "phrase"))],
    }
    assert wanted(engine, Selection(which=Which.SLOTS))["negation"] == [
        (bare.id, ALL_NEGATIONS), (partly.id, ("absolute", "affixal", "lexical")),
    ]  # fmt: skip


def test_a_limit_counts_anchors_and_is_drawn_by_the_seed(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(50):
            add_anchor(session, f"The bridge number {n} is safe.")
    some = wanted(engine, Selection(limit=10), seed=1)
    assert [a for a, _ in some["negation"]] == [a for a, _ in some["hedge"]]
    assert len(some["hedge"]) == 10
    assert some == wanted(engine, Selection(limit=10), seed=1)
    assert some != wanted(engine, Selection(limit=10), seed=2)
    more = wanted(engine, Selection(limit=20), seed=1)
    assert set(some["hedge"]) < set(more["hedge"]), "a trial is part of the larger sample"


def test_a_search_takes_its_words_literally(engine: Engine) -> None:
    with writing(engine) as session:
        share = add_anchor(session, "The share rose by 5% today.")
        add_anchor(session, "The share rose by 50 today.")
    assert wanted(engine, Selection(search="5% TODAY"))["hedge"] == [(share.id, ("word", "phrase"))]


def planned(engine: Engine, request: GenerationRequest) -> int:
    with writing(engine) as session:
        seed_prompts(session)
        prompts = {role: prompt_versions(session, role)[0].id or 0 for role in request.roles}
        run = create_run(session, kind="generate", parameters={})
        plan_calls(session, run.id or 0, request.model_copy(update={"prompts": prompts}))
        return run.id or 0


def test_calls_are_stored_with_their_cues_and_read_back_in_order(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(30):
            add_anchor(session, f"The bridge number {n} is safe.")
    run_id = planned(engine, GenerationRequest(model="fake", seed=7))
    with reading(engine) as session:
        calls = open_calls(session, run_id)
        assert count_calls(session, run_id)[CallState.OPEN] == len(calls) == 60
        hedges = [call for call in calls if call.role == "hedge"]
        assert all(set(call.cues) == {"word", "phrase"} for call in hedges)
        used = cue_use(session, run_id)
        assert sum(used["word"].values()) == sum(used["phrase"].values()) == 30
        assert open_calls(session, run_id, after=calls[9].id) == calls[10:]


def test_what_failed_in_a_run_can_be_asked_alone(engine: Engine) -> None:
    with writing(engine) as session:
        anchors = [add_anchor(session, f"The bridge number {n} is safe.") for n in range(4)]
    run_id = planned(engine, GenerationRequest(model="fake", roles=("hedge",)))
    with writing(engine) as session:
        first, second = open_calls(session, run_id)[:2]
        session.get_one(ModelCall, first.id).state = CallState.FAILED
        session.get_one(ModelCall, second.id).problem = "type missing"
    again = Selection(which=Which.FAILED, run=run_id)
    assert [a for a, _ in wanted(engine, again, roles=("hedge",))["hedge"]] == [
        anchors[0].id, anchors[1].id,
    ]  # fmt: skip


def test_a_run_with_nothing_to_ask_is_refused(engine: Engine) -> None:
    with writing(engine) as session:
        add_anchor(session)
    with pytest.raises(HedgerowError, match="nothing to generate"):
        planned(engine, GenerationRequest(model="fake", selection=Selection(search="no such")))
