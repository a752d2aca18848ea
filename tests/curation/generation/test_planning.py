"""The calls of a run: the anchors and types that it asks for, planning, storing and reading."""

import itertools

import pytest
from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.calls import Call, count_calls, cue_use, open_calls, planned_calls
from curation.generation.missing_variants import count_wanted, wanted_anchors
from curation.generation.prompts import prompt_versions, seed_prompts
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import AnchorSelection, GenerationRequest, Price, Which
from curation.generation.storing import Attempt, Origin, store_attempts
from curation.review import deciding
from curation.taxonomy.project_types import list_types
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, CallState, ModelCall, Variant
from db.runs import create_run
from tests.support.databases import both_databases
from tests.support.factories import add_anchor, add_family, add_variant, person

ALL_NEGATIONS = ("verbal", "absolute", "affixal", "lexical")
BOTH = ("negation", "hedge")
ORIGIN, PRICE = Origin("openai", "fake"), Price(prompt=1e6, completion=1e6)


def planned(session: Session, *, seed: int = 0, **how: object) -> int:
    """A run with the planned calls."""
    seed_prompts(session)
    request = GenerationRequest(model="fake", seed=seed, **how)  # type: ignore[arg-type]
    prompts = {role: prompt_versions(session, role)[0].id for role in request.roles}
    run = create_run(session, kind="generate", parameters={})
    calls = planned_calls(session, request.model_copy(update={"prompts": prompts}))
    session.execute(insert(ModelCall), [call | {"run_id": run.id} for call in calls])
    return run.id


def wanted(session: Session, *, seed: int = 0, roles=BOTH, **selection: object):
    """What a run would ask for: anchors and types, by role."""
    chosen = AnchorSelection(**selection)  # type: ignore[arg-type]
    found = wanted_anchors(session, chosen, roles, list_types(session), seed=seed)
    return {role: [(a.anchor_id, a.type_ids) for a in some] for role, some in found.items()}


def reject(session: Session, variant: Variant) -> None:
    card, ada = deciding.shown(variant), person(session)
    deciding.reject(session, card, reviewer_id=ada, reason="meaning_changed")


@both_databases
def test_calls_are_stored_with_their_cues_and_read_back_in_order(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(30):
            add_anchor(session, f"The bridge number {n} is safe.")
        run_id = planned(session, seed=7)
        calls = open_calls(session, run_id)
        assert count_calls(session, run_id)[CallState.OPEN] == len(calls) == 60
        hedges = [call for call in calls if call.role == "hedge"]
        assert all(set(call.cues) == {"word", "phrase"} for call in hedges)
        used = cue_use(session, run_id)
        assert sum(used["word"].values()) == sum(used["phrase"].values()) == 30
        assert open_calls(session, run_id, after=calls[9].id) == calls[10:]
        with pytest.raises(HedgerowError, match="nothing to generate"):
            planned(session, selection=AnchorSelection(search="no such"))


@both_databases
def test_only_what_an_anchor_lacks_is_asked_for(engine: Engine) -> None:
    with writing(engine) as session:
        texts = ("The road is safe.", "The wall is safe, by 5% Today.", "The mill is safe.")
        bare, partly, retired = (add_anchor(session, text) for text in texts)
        retired.retired_at = now()
        add_variant(session, partly, "verbal")
        reject(session, add_variant(session, partly, "lexical"))
        hedges = ("word", "phrase")
        assert wanted(session) == {
            "negation": [(bare.id, ALL_NEGATIONS)],
            "hedge": [(bare.id, hedges), (partly.id, hedges)],
        }
        assert wanted(session, which=Which.SLOTS)["negation"] == [
            (bare.id, ALL_NEGATIONS),
            (partly.id, ("absolute", "affixal", "lexical")),
        ]
        add_anchor(session, "The share rose by 50 today.")
    with reading(engine) as session:  # committing has indexed the texts
        literal = wanted(session, search="5% TODAY")
        assert literal["hedge"] == [(partly.id, hedges)], "a search takes its words literally"


def test_a_limit_counts_anchors_and_is_sampled_by_the_seed(engine: Engine) -> None:
    with writing(engine) as session:
        for n in range(50):
            add_anchor(session, f"The bridge number {n} is safe.")
        some = wanted(session, limit=10, seed=1)
        assert [a for a, _ in some["negation"]] == [a for a, _ in some["hedge"]]
        assert len(some["hedge"]) == 10
        assert some == wanted(session, limit=10, seed=1) != wanted(session, limit=10, seed=2)
        more = wanted(session, limit=20, seed=1)
        assert set(some["hedge"]) < set(more["hedge"]), "a trial is part of the larger sample"


def test_failed_calls_of_a_run_can_be_repeated_alone(engine: Engine) -> None:
    with writing(engine) as session:
        anchors = [add_anchor(session, f"The bridge number {n} is safe.").id for n in range(4)]
        run_id = planned(session, roles=("hedge",))
        first, second = open_calls(session, run_id)[:2]
        session.get_one(ModelCall, first.id).state = CallState.FAILED
        session.get_one(ModelCall, second.id).problem = "type missing"
        session.flush()
        again = wanted(session, which=Which.FAILED, run=run_id, roles=("hedge",))
        assert [anchor for anchor, _ in again["hedge"]] == anchors[:2]


@both_databases
@pytest.mark.parametrize("which", [Which.WITHOUT, Which.SLOTS, Which.FAILED])
def test_counting_tells_what_planning_finds(engine: Engine, which: Which) -> None:
    with writing(engine) as session:
        add_family(session, "The bridge is full.")
        for number in range(6):
            partly = add_anchor(session, f"The road {number} is safe.")
            variant = add_variant(session, partly, ("verbal", "word")[number % 2])
            if number < 3:
                reject(session, variant)
            add_anchor(session, f"The wall {number} is safe.").genre = "bare"
        run = planned(session) if which is Which.FAILED else None
        for call in open_calls(session, run)[::3] if run else ():
            session.get_one(ModelCall, call.id).state = CallState.FAILED
        session.flush()
        every = (*BOTH, "paraphrase")
        for limit, roles in itertools.product((None, 5), (every, ("hedge",), ())):
            found = wanted(session, which=which, run=run, limit=limit, roles=roles, seed=3)
            selection = AnchorSelection(which=which, run=run, limit=limit)
            counted = count_wanted(session, selection, roles, seed=3)
            assert counted.calls == {role: len(some) for role, some in found.items()}
            assert counted.anchors == len({key for some in found.values() for key, _ in some})


# -- storing --------------------------------------------------------------------------------------


@pytest.fixture
def call(engine: Engine) -> Call:
    with writing(engine) as session:
        add_anchor(session)
        return open_calls(session, planned(session, roles=("negation",)))[0]


def answered(call: Call, number: int, text: str) -> Attempt:
    reply = Reply(raw=text, finish_reason="stop", prompt_tokens=10, completion_tokens=5)
    return Attempt(call, number, reply, {"verbal": text}, (), "", CallState.DONE)


def failed(call: Call, number: int) -> Attempt:
    return Attempt(call, number, None, {}, (), "Overloaded.", CallState.OPEN)


def store(engine: Engine, *attempts: Attempt) -> list[int]:
    with writing(engine) as session:
        return [a.number for a in store_attempts(session, attempts, origin=ORIGIN, price=PRICE)]


@both_databases
def test_attempts_at_one_call_are_stored_in_their_order_also_together(
    engine: Engine, call: Call
) -> None:
    assert store(engine, failed(call, 1), answered(call, 2, "Not safe.")) == [1, 2]
    with reading(engine) as session:
        row = session.get_one(ModelCall, call.id)
        assert (row.state, row.attempts) == (CallState.DONE, 2)
        costs = session.execute(select(col(Answer.cost)).order_by(col(Answer.attempt))).scalars()
        assert costs.all() == [0.0, 15.0]


@both_databases
def test_stored_and_late_attempts_are_left_out(engine: Engine, call: Call) -> None:
    assert store(engine, failed(call, 1)) == [1]
    assert store(engine, failed(call, 1)) == [], "the commit had succeeded the first time"
    assert store(engine, answered(call, 2, "Not safe.")) == [2]
    late = answered(call, 3, "Unsafe.")  # from a process that had lost the run to another
    assert store(engine, late) == []
    with reading(engine) as session:
        assert session.execute(select(col(Variant.text))).scalars().all() == ["Not safe."]
        assert len(session.execute(select(col(Answer.id))).all()) == 2
