"""Storing attempts, without those that are already stored."""

import pytest
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.calls import Call, open_calls
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import GenerationRequest, Price
from curation.generation.storing import Attempt, Origin, store_attempts
from db.engine import reading, writing
from db.models import Answer, CallState, ModelCall, Variant
from tests.curation.generation.test_calls import planned
from tests.support.databases import both_databases
from tests.support.factories import add_anchor

pytestmark = both_databases

ORIGIN = Origin("openai", "fake")


@pytest.fixture
def call(engine: Engine) -> Call:
    with writing(engine) as session:
        add_anchor(session)
    run_id = planned(engine, GenerationRequest(model="fake", roles=("negation",)))
    with reading(engine) as session:
        return open_calls(session, run_id)[0]


def answered(call: Call, number: int, text: str) -> Attempt:
    reply = Reply(raw=text, finish_reason="stop", prompt_tokens=10, completion_tokens=5)
    return Attempt(call, number, reply, {"verbal": text}, (), "", CallState.DONE)


def failed(call: Call, number: int) -> Attempt:
    return Attempt(call, number, None, {}, (), "Overloaded.", CallState.OPEN)


def store(engine: Engine, *attempts: Attempt) -> list[int]:
    with writing(engine) as session:
        price = Price(prompt=1e6, completion=1e6)
        return [a.number for a in store_attempts(session, attempts, origin=ORIGIN, price=price)]


def test_attempts_at_one_call_are_stored_in_their_order_also_together(
    engine: Engine, call: Call
) -> None:
    assert store(engine, failed(call, 1), answered(call, 2, "Not safe.")) == [1, 2]
    with reading(engine) as session:
        row = session.get_one(ModelCall, call.id)
        assert (row.state, row.attempts) == (CallState.DONE, 2)
        costs = session.execute(select(col(Answer.cost)).order_by(Answer.attempt)).scalars().all()
        assert costs == [0.0, 15.0]


def test_stored_and_late_attempts_are_left_out(engine: Engine, call: Call) -> None:
    assert store(engine, failed(call, 1)) == [1]
    assert store(engine, failed(call, 1)) == [], "the commit had succeeded the first time"
    assert store(engine, answered(call, 2, "Not safe.")) == [2]
    late = answered(call, 3, "Unsafe.")  # from a process that had lost the run to another
    assert store(engine, late) == []
    with reading(engine) as session:
        assert session.execute(select(col(Variant.text))).scalars().all() == ["Not safe."]
        assert len(session.execute(select(col(Answer.id))).all()) == 2
