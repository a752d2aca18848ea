"""Two runs never make the same calls."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update
from sqlmodel import col

from curation.generation.calls import count_calls
from curation.generation.duplicates import check_alone, count_left
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.run import checked_request, request_generation
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import CallState, ModelCall, RunState, Variant
from db.runs import get_run, list_runs, request_cancel
from tests.curation.generation.test_run import again
from tests.curation.generation.test_run import unmeasured as unmeasured
from tests.support.databases import both_databases, one_database
from tests.support.generating import Serve

pytestmark = both_databases

FEW = {"search": "number 1"}
"""Eleven anchors: 1 and 10 to 19."""


def asked(engine: Engine, address: str = "http://127.0.0.1:9/v1", **how: object) -> int:
    request = checked_request({"model": "fake", "base_url": address} | how)
    with writing(engine) as session:
        return request_generation(session, request).id


def test_a_run_is_refused_while_another_is_making_its_calls(anchors: Engine) -> None:
    first = asked(anchors, roles=("negation",), selection={"search": "number 1"})
    with pytest.raises(HedgerowError, match=f"Run {first} is making 11 of the same calls"):
        asked(anchors)
    with reading(anchors) as session:
        assert len(list_runs(session)) == 1, "nothing of it is stored"
    other = asked(anchors, roles=("hedge",))
    with writing(anchors) as session:
        request_cancel(session, first)
        check_alone(session, other)
    assert asked(anchors, roles=("negation",)) > other


def test_a_resumed_run_leaves_out_what_another_has_made_meanwhile(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    first = asked(anchors, address, budget={"calls": 10}, concurrency=2)
    with pytest.raises(HedgerowError, match="Paused at the budget"):
        again(anchors, home, first)
    second = asked(anchors, address, selection={"search": "number 2"})
    again(anchors, home, second)
    with reading(anchors) as session:
        run = get_run(session, first)
        assert run.state == RunState.PAUSED
        before = count_calls(session, first)[CallState.OPEN]
    with writing(anchors) as session:
        run = get_run(session, first)
        run.parameters = run.parameters | {"budget": {"calls": None, "money": None}}
    result = again(anchors, home, first)
    assert result["done"] < 10 + before, "some were made by the second run"
    assert set(server.asked.values()) == {1} and len(server.asked) == 80
    with reading(anchors) as session:
        assert len(session.execute(select(Variant)).all()) == 40 * 6


@one_database
def test_failed_calls_that_another_run_made_are_closed(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    first = asked(anchors, address, roles=("hedge",), selection=FEW)
    with writing(anchors) as session:
        request_cancel(session, first)
        session.execute(update(ModelCall).values(attempts=1))
        assert count_left(session, first) == 11
    again(anchors, home, asked(anchors, address, roles=("hedge",), selection=FEW))
    with reading(anchors) as session:
        assert count_left(session, first) == 0
    result = again(anchors, home, first)
    assert (result["done"], result["failed"]) == (0, 11)
    assert set(server.asked.values()) == {1} and len(server.asked) == 11
    with reading(anchors) as session:
        mine = select(col(ModelCall.problem)).where(col(ModelCall.run_id) == first)
        assert set(session.execute(mine).scalars()) == {AnswerProblem.MADE}


@one_database
def test_an_answer_for_other_types_leaves_a_call_to_be_made(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat()
    first = asked(anchors, address, roles=("hedge",), selection=FEW)
    with writing(anchors) as session:
        request_cancel(session, first)
    words = asked(anchors, address, roles=("hedge",), selection=FEW | {"types": ("word",)})
    again(anchors, home, words)
    with reading(anchors) as session:
        assert count_left(session, first) == 11
    assert again(anchors, home, first)["done"] == 11
