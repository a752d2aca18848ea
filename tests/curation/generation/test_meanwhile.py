"""Changes during a run: anchors and types, and the order of the answers."""

import json
import random
from collections.abc import Callable

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, func, select, update
from sqlmodel import col

from curation.anchors.changes import correct_anchor, retire_anchor
from curation.generation.calls import open_calls
from curation.generation.costs.ledger import read_ledger
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
from tests.curation.generation.conftest import ANCHORS, CALLS, VARIANTS, Runs
from tests.support.databases import both_databases
from tests.support.factories import person
from tests.support.servers.chat_server import texts_for

OLD, NEW = "The bridge number 3 is safe.", "The bridge number 3 is quite safe."
OLD_ID = 4

Change = Callable[[Engine], None]


@pytest.fixture(autouse=True)
def _few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.generation.worker.HELD", 8)


def when_asked_about_old(runs: Runs, change: Change) -> None:
    """Make a change at the moment when the server is first asked about this anchor."""

    def hear(prompt: str) -> None:
        if f"Text: {OLD}" in prompt:
            runs.server.hear = lambda prompt: None
            change(runs.engine)

    runs.server.hear, runs.server.delay = hear, 0.02


def correct(engine: Engine) -> None:
    with writing(engine) as session:
        correct_anchor(session, OLD_ID, NEW, reviewer_id=person(session), expected_revision=1)


def retire(engine: Engine) -> None:
    with writing(engine) as session:
        retire_anchor(session, OLD_ID)


def retire_types(engine: Engine) -> None:
    with writing(engine) as session:
        used = col(TypeRow.id).in_(["lexical", "word", "phrase"])
        session.execute(update(TypeRow).where(used).values(retired_at=now()))


def of_old(runs: Runs) -> list[tuple[int, bool, bool]]:
    """The revision of the anchor's variants, whether they have its new text, and whether they are
    retired."""
    columns = col(Variant.anchor_revision), col(Variant.text), col(Variant.retired)
    found = runs.rows(select(*columns).where(Variant.anchor_id == OLD_ID))
    return sorted((revision, "quite safe" in text, retired) for revision, text, retired in found)


CORRECTED = [(1, False, False)] * 4 + [(2, True, False)] * 2
RETIRED = [(1, False, True)] * 4
"""The answers about an anchor that is changed between its two calls. Paid answers are kept."""


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("change", "failed", "variants"), [(correct, 0, CORRECTED), (retire, 1, RETIRED)]
)
def test_a_change_of_an_anchor_counts_for_the_calls_that_are_still_to_be_made(
    runs: Runs, change: Change, failed: int, variants: list[tuple[int, bool, bool]], batch: bool
) -> None:
    assert runs.all(select(AnchorRevision.text).where(AnchorRevision.anchor_id == OLD_ID)) == [OLD]
    if batch:  # calls stay as sent, and the second half, the hedges, expires
        runs.server.batches.expiring = 1
        runs.server.batches.hear = lambda happened: happened == "made" and change(runs.engine)
    else:
        when_asked_about_old(runs, change)
    result = runs.carry_out(concurrency=4, batch=batch)
    assert (result["done"], result["failed"]) == (CALLS - failed, failed)
    assert of_old(runs) == variants
    pairs = select(col(Answer.anchor_revision), col(ModelCall.anchor_revision)).join(ModelCall)
    assert batch or all(answer == call for answer, call in runs.rows(pairs))
    closed = select(ModelCall.problem).where(ModelCall.state == CallState.FAILED)
    assert runs.all(closed) == [AnswerProblem.RETIRED] * failed
    assert runs.all(Variant.retired).count(True) == 4 * failed


def test_a_type_retired_during_a_run_is_no_longer_requested(runs: Runs) -> None:
    when_asked_about_old(runs, retire_types)
    result = runs.carry_out(concurrency=4)
    assert (result["done"], result["failed"]) == (ANCHORS, ANCHORS), "nothing is left of the hedges"
    written = [type_id for _, _, type_id, _ in runs.variants()]
    assert written.count("verbal") == ANCHORS and 0 < written.count("lexical") < ANCHORS - 8
    assert not {"word", "phrase"} & set(written)
    assert not any('"word"' in prompt for prompt in runs.server.asked)


def assert_variants_are_of_their_anchors(runs: Runs) -> None:
    """The server repeats the anchor in each variant."""
    found = runs.rows(
        select(Variant.text, AnchorRevision.text, Answer.anchor_id, Variant.anchor_id)
        .join(AnchorRevision, col(AnchorRevision.anchor_id) == Variant.anchor_id)
        .join(Answer, col(Answer.id) == Variant.answer_id)
    )
    assert len(found) == VARIANTS
    for text, anchor, asked, stored in found:
        assert anchor.rstrip(".") in text and asked == stored


def test_answers_that_come_in_any_order_are_stored_with_their_anchors(runs: Runs) -> None:
    runs.server.spread = 0.3
    runs.carry_out(concurrency=32)
    order = runs.all(select(Answer.call_id).order_by(col(Answer.id)))
    assert order != sorted(order), "otherwise this test shows nothing"
    assert_variants_are_of_their_anchors(runs)


@both_databases
def test_a_batch_may_bring_its_answers_in_any_order_and_twice(local_runs: Runs) -> None:
    engine = local_runs.engine
    asker = Asker(ChatModel("fake", SecretStr("")), TAXONOMY, attempts=3)
    request = checked_request({"model": "fake", "batch": True})
    with writing(engine) as session:
        another = request_generation(session, request)
        another.state = RunState.PAUSED
        session.flush()
        run = request_generation(session, request)
        calls, foreign = (open_calls(session, each.id) for each in (run, another))
    context = RunContext(engine, Settings(home=local_runs.home, database_url=""), run)
    store = BatchStore(context, request, asker, read_ledger(engine, run.id, request.budget))
    store.label([call.id for call in calls], "batch_1")
    answers = [
        (call.id, Reply(json.dumps(texts_for(asker.question(call)[0])), "stop", 1, 1))
        for call in [*calls, *calls, *foreign]
    ] + [(10**9, Reply("{}", "stop", 1, 1))]
    random.Random(1).shuffle(answers)
    for start in range(0, len(answers), 17):
        store.store_answers(dict(answers[start : start + 17]), "batch_1")
    assert_variants_are_of_their_anchors(local_runs)
    with reading(engine) as session:
        of_runs = select(col(Answer.run_id), func.count()).group_by(col(Answer.run_id))
        assert list(session.execute(of_runs)) == [(run.id, CALLS)]
