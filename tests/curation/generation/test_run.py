"""A generation run against a real server: what it stores, and what faults leave of it."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from curation.generation import run as generation
from curation.generation.run import checked_request, request_generation
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import execute
from db.models import Answer, CallState, ModelCall, Run, RunState, Variant
from db.settings import Settings
from tests.chat_server import texts_for
from tests.curation.generation.conftest import Serve


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring is tested elsewhere and loads an encoder."""
    monkeypatch.setattr("curation.diagnostics.work", lambda context: {})


def carry_out(engine: Engine, home: Path, **how: Any) -> tuple[int, dict[str, Any]]:
    request = checked_request({"model": "fake", "concurrency": 8} | how)
    with writing(engine) as session:
        run_id = request_generation(session, request).id or 0
    return run_id, again(engine, home, run_id)


def again(engine: Engine, home: Path, run_id: int) -> dict[str, Any]:
    settings = Settings(home=home, database_url="")
    return execute(engine, settings, run_id, {generation.KIND: generation.work})


def table(engine: Engine) -> list[tuple[Any, ...]]:
    """All variants, but for keys and times."""
    with reading(engine) as session:
        rows = session.execute(
            select(Variant.uid, Variant.text, Variant.type_id, Variant.cue).order_by(Variant.uid)
        )
        return [tuple(row) for row in rows]


def test_every_anchor_gets_a_variant_of_every_type(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    run_id, result = carry_out(anchors, home, base_url=address)
    assert result == {"done": 80, "failed": 0, "calls": 80, "cost": 0.0}
    assert len(table(anchors)) == 40 * 6
    assert set(server.asked.values()) == {1}
    with reading(anchors) as session:
        variant = (
            session.execute(select(Variant).where(Variant.type_id == "word")).scalars().first()
        )
        assert variant is not None and variant.cue
        answer = session.get_one(Answer, variant.answer_id)
        assert answer.anchor_id == variant.anchor_id and variant.text in answer.raw
        assert (variant.provider, variant.model, variant.run_id) == ("openai", "fake", run_id)


@pytest.mark.parametrize("structured", [True, False])
def test_a_server_that_knows_no_structured_outputs_gives_the_same(
    anchors: Engine, home: Path, serve_chat: Serve, structured: bool
) -> None:
    address, server = serve_chat(structured=structured)
    carry_out(anchors, home, base_url=address)
    for prompt in server.asked:
        assert set(texts_for(prompt).values()) <= {row[1] for row in table(anchors)}


def test_faults_are_retried_until_the_table_is_that_of_an_undisturbed_run(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.generation.asking.FIRST_WAIT", 0.01)
    address, _ = serve_chat(faults=0.5)
    _, result = carry_out(anchors, home, base_url=address, timeout=0.5)
    assert result["done"] == 80 and result["failed"] == 0
    assert len(table(anchors)) == 40 * 6
    with reading(anchors) as session:
        errors = {e.partition(":")[0] for e in session.execute(select(Answer.error)).scalars()}
    assert {"rate limit", "server error", "timeout", "model refused", "cut off", "unreadable",
            "type missing"} <= errors  # fmt: skip


def test_a_wrong_key_ends_the_run_and_says_so_without_the_key(
    anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-secret-thing")
    address, _ = serve_chat(key="another")
    with pytest.raises(HedgerowError, match="refuses the key"):
        carry_out(anchors, home, base_url=address)
    with reading(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        assert run.state is RunState.FAILED and "sk-secret" not in str(run.model_dump())


def test_the_budget_pauses_the_run_which_goes_on_where_it_stopped(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    with pytest.raises(HedgerowError, match="budget"):
        carry_out(anchors, home, base_url=address, budget={"calls": 30})
    with writing(anchors) as session:
        run = session.execute(select(Run)).scalar_one()
        assert run.state is RunState.PAUSED
        states = list(session.execute(select(ModelCall.state)).scalars())
        assert states.count(CallState.DONE) == 30
        run.parameters = run.parameters | {"budget": {}}
    again(anchors, home, run.id or 0)
    assert len(table(anchors)) == 40 * 6 and set(server.asked.values()) == {1}
