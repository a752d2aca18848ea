"""Changes during a run: anchors, types, the database, the budget."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.generation.calls import open_calls
from curation.generation.costs.ledger import read_ledger
from curation.generation.providers import waiting
from curation.generation.providers.batch.collecting import BatchStore
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.client import ChatModel
from curation.generation.providers.chat.completions import Reply
from curation.generation.providers.chat.retries import Asker
from curation.generation.run import checked_request, request_generation
from curation.taxonomy.built_in import TAXONOMY
from db.columns import now
from db.engine import reading, writing
from db.execution import RunContext
from db.models import AnchorRevision, Answer, CallState, ModelCall, RunState, TypeRow, Variant
from db.settings import Settings
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out, table, unmeasured  # noqa: F401
from tests.support.databases import both_databases
from tests.support.factories import person
from tests.support.servers.chat_server import ChatServer, texts_for

OLD, NEW = "The bridge number 3 is safe.", "The bridge number 3 is quite safe."


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are read in small blocks, and waits are short."""
    monkeypatch.setattr("curation.generation.worker.HELD", 8)
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "CHECK_SECONDS", 0.02)


def when_asked_about(server: ChatServer, text: str, change: Any) -> None:
    """Make a change at the moment when the server is first asked about this anchor."""

    def hear(prompt: str) -> None:
        if f"Text: {text}" in prompt:
            server.hear = lambda prompt: None
            change()

    server.hear = hear


def anchor_of(engine: Engine, text: str) -> int:
    with reading(engine) as session:
        query = select(col(AnchorRevision.anchor_id)).where(col(AnchorRevision.text) == text)
        return session.execute(query).scalar_one()


def correct(engine: Engine) -> None:
    with writing(engine) as session:
        reviewer = person(session)
        correct_anchor(
            session, anchor_of(engine, OLD), NEW, reviewer_id=reviewer, expected_revision=1
        )


def retire(engine: Engine) -> None:
    with writing(engine) as session:
        retire_anchor(session, anchor_of(engine, OLD))


def variants_of(engine: Engine, anchor_id: int) -> list[tuple[int, str, bool]]:
    with reading(engine) as session:
        query = select(col(Variant.anchor_revision), col(Variant.text), col(Variant.retired))
        return [tuple(r) for r in session.execute(query.where(Variant.anchor_id == anchor_id))]


def test_a_correction_counts_for_the_calls_that_are_still_to_be_made(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.02)
    when_asked_about(server, OLD, lambda: correct(anchors))
    _, result = carry_out(anchors, home, base_url=address, concurrency=4)
    assert result["done"] == 80
    found = variants_of(anchors, anchor_of(anchors, OLD))
    assert sorted(revision for revision, _, _ in found) == [1] * 4 + [2] * 2
    for revision, text, retired in found:
        assert ("quite safe" in text) == (revision == 2) and not retired
    with reading(anchors) as session:
        pairs = select(col(Answer.anchor_revision), col(ModelCall.anchor_revision)).join(ModelCall)
        assert all(answer == call for answer, call in session.execute(pairs))


def test_an_anchor_retired_during_a_run_is_no_longer_requested(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat(delay=0.02)
    when_asked_about(server, OLD, lambda: retire(anchors))
    _, result = carry_out(anchors, home, base_url=address, concurrency=4)
    assert (result["done"], result["failed"], result["calls"]) == (79, 1, 79)
    found = variants_of(anchors, anchor_of(anchors, OLD))
    assert [retired for _, _, retired in found] == [True] * 4, "paid answers are kept"
    with reading(anchors) as session:
        failed = session.execute(select(ModelCall).where(ModelCall.state == CallState.FAILED))
        assert failed.scalar_one().problem == AnswerProblem.RETIRED
        assert (
            session.execute(
                select(func.count()).where(col(Variant.retired)).select_from(Variant)
            ).scalar_one()
            == 4
        )


def test_a_type_retired_during_a_run_is_no_longer_requested(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    def retire_types() -> None:
        with writing(anchors) as session:
            used = col(TypeRow.id).in_(["lexical", "word", "phrase"])
            session.execute(update(TypeRow).where(used).values(retired_at=now()))

    address, server = serve_chat(delay=0.02)
    when_asked_about(server, OLD, retire_types)
    _, result = carry_out(anchors, home, base_url=address, concurrency=4)
    assert (result["done"], result["failed"]) == (40, 40), "nothing is left of the hedges"
    written = [type_id for _, _, type_id, _ in table(anchors)]
    assert written.count("verbal") == 40 and 0 < written.count("lexical") < 20
    assert not {"word", "phrase"} & set(written)
    assert not any('"word"' in prompt for prompt in server.asked)


@pytest.mark.parametrize("change", [correct, retire])
def test_calls_in_a_batch_stay_as_sent(
    anchors: Engine, home: Path, serve_chat: Serve, change: Any
) -> None:
    address, server = serve_chat()
    server.batches.expiring, server.batches.expire_after = 1, 0.5  # the second half, the hedges
    server.batches.hear = lambda happened: happened == "made" and change(anchors)
    anchor_id = anchor_of(anchors, OLD)
    _, result = carry_out(anchors, home, base_url=address, batch=True)
    server.batches.hear = lambda happened: None
    found = variants_of(anchors, anchor_id)
    if change is retire:
        assert (result["done"], result["failed"]) == (79, 1)
        assert found and all(r == 1 and retired for r, _, retired in found) and len(found) == 4
    else:
        assert result["done"] == 80
        assert sorted(revision for revision, _, _ in found) == [1] * 4 + [2] * 2
        assert all(("quite safe" in text) == (revision == 2) for revision, text, _ in found)


def test_answers_that_come_in_any_order_are_stored_with_their_anchors(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, _ = serve_chat(spread=0.3)
    carry_out(anchors, home, base_url=address, concurrency=32)
    with reading(anchors) as session:
        order = session.execute(select(col(Answer.call_id)).order_by(col(Answer.id))).scalars()
        assert (found := list(order)) != sorted(found), "otherwise this test shows nothing"
    assert_variants_are_of_their_anchors(anchors)


def assert_variants_are_of_their_anchors(engine: Engine) -> None:
    """The server repeats the anchor in each variant."""
    with reading(engine) as session:
        rows = session.execute(
            select(
                col(Variant.text),
                col(AnchorRevision.text),
                col(Answer.anchor_id),
                col(Variant.anchor_id),
            )
            .join(AnchorRevision, col(AnchorRevision.anchor_id) == Variant.anchor_id)
            .join(Answer, col(Answer.id) == Variant.answer_id)
        ).all()
    assert len(rows) == 240
    for text, anchor, asked, stored in rows:
        assert anchor.rstrip(".") in text and asked == stored


@both_databases
def test_a_batch_may_bring_its_answers_in_any_order_and_twice(anchors: Engine, home: Path) -> None:
    asker = Asker(ChatModel("fake", SecretStr("")), TAXONOMY, attempts=3)
    request = checked_request({"model": "fake", "batch": True})
    with writing(anchors) as session:
        another = request_generation(session, request)
        another.state = RunState.PAUSED
        session.flush()
        run = request_generation(session, request)
        calls, foreign = (open_calls(session, each.id) for each in (run, another))
    context = RunContext(anchors, Settings(home=home, database_url=""), run)
    store = BatchStore(context, request, asker, read_ledger(anchors, run.id, request.budget))
    store.label([call.id for call in calls], "batch_1")
    answers = [
        (call.id, Reply(json.dumps(texts_for(asker.question(call)[0])), "stop", 1, 1))
        for call in [*calls, *calls, *foreign]
    ] + [(10**9, Reply("{}", "stop", 1, 1))]
    random.Random(1).shuffle(answers)
    while answers:
        some, answers = answers[:17], answers[17:]
        store.store_answers(dict(some), "batch_1")
    assert_variants_are_of_their_anchors(anchors)
    with reading(anchors) as session:
        of_runs = select(col(Answer.run_id), func.count()).group_by(col(Answer.run_id))
        assert list(session.execute(of_runs)) == [(run.id, 80)]
