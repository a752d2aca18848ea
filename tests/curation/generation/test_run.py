"""A generation run with a real server: what it stores, also after faults and beside other runs."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select, update
from sqlmodel import col

from curation.anchors.lookup import source_ids
from curation.editing.anchors import correct_anchor, retire_anchor
from curation.generation.answers import AnswerProblem
from curation.generation.budget import change_budget, cost_rows
from curation.generation.calls import count_calls
from curation.generation.estimate import estimate, is_trial, trial_of
from curation.generation.prices import dollars, price_of, set_price
from curation.generation.prompts import example_anchor
from curation.generation.providers.chat.client import run_to_end
from curation.generation.request import KIND, Budget, Price
from curation.generation.run import check_alone, checked_request, count_left
from curation.generation.run_report import (
    PACE,
    calls_in_full,
    cue_rows,
    last_troubles,
    models_used,
    progress,
    variant_ids,
    written_by,
)
from curation.review import deciding
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import (
    AnchorRevision,
    Answer,
    CallState,
    ModelCall,
    Run,
    RunState,
    TypeRow,
    Variant,
)
from db.runs import get_run, request_cancel, request_pause
from tests.curation.generation.conftest import ANCHORS, CALLS, VARIANTS, Runs
from tests.support.databases import both_databases
from tests.support.factories import add_family, person

FEW = {"search": "number 1"}
"""Eleven anchors: 1 and 10 to 19."""
PRICE = {"prompt": 1000.0, "completion": 2000.0}
HALF = {"verbal": "It is not so.", "word": "It is so."}


@both_databases
def test_every_anchor_gets_a_variant_of_every_type(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int]] = []
    listener = staticmethod(lambda step, total, message: reports.append((step, total)))
    monkeypatch.setattr(RunContext, "listener", listener)
    assert runs.carry_out() == {
        "done": CALLS,
        "failed": 0,
        "calls": CALLS,
        "cost": 0.0,
        "cost_is_estimate": False,
        "missing": {},
        "removed": {},
        "complete": True,
    }
    assert (reports[0], reports[-1]) == ((0, CALLS), (CALLS, CALLS)) and reports == sorted(reports)
    runs.assert_complete()
    assert runs.is_each_asked_once
    with reading(runs.engine) as session:
        words = select(Variant).where(Variant.type_id == "word")
        variant = session.execute(words).scalars().first()
        assert variant is not None and variant.cue
        answer = session.get_one(Answer, variant.answer_id)
        assert answer.anchor_id == variant.anchor_id and variant.text in answer.raw
        assert (variant.provider, variant.model, variant.run_id) == ("openai", "fake", 1)


def test_a_server_without_structured_outputs_that_fails_at_half_of_the_calls_gives_the_same(
    runs: Runs,
) -> None:
    runs.server.structured, runs.server.faults = False, 0.5
    result = runs.carry_out(timeout=1.0, attempts=20)
    assert (result["done"], result["failed"]) == (CALLS, 0)
    assert (result["missing"], result["complete"]) == ({}, True)
    runs.assert_complete()
    assert {error.partition(":")[0] for error in runs.all(Answer.error)} >= {
        "rate limit",
        "server error",
        "timeout",
        "model refused",
        "cut off",
        "unreadable",
        "type missing",
    }


def test_a_wrong_key_ends_the_run_and_is_not_shown(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDGEROW_OPENAI_API_KEY", "sk-secret-thing")
    monkeypatch.setenv("HEDGEROW_OPENAI_BASE_URL", runs.address)
    runs.server.key = "another"
    assert "refuses the API key" in runs.refused()
    (run,) = runs.all(select(Run))
    assert run.state is RunState.FAILED and "sk-secret" not in str(run.model_dump())


def test_the_budget_pauses_the_run_which_continues_where_it_stopped(runs: Runs) -> None:
    runs.stop_at_budget(20)
    assert runs.calls().count(CallState.DONE) == 20
    runs.again()
    assert len(runs.variants()) == VARIANTS and runs.is_each_asked_once


def test_retries_stay_within_the_budget(runs: Runs) -> None:
    runs.server.faults, runs.server.kinds = 1.0, ("wrong json",)
    runs.stop_at_budget(21)
    assert runs.questions == 21


def test_money_is_not_spent_on_what_failed_for_free(runs: Runs) -> None:
    runs.server.faults, runs.server.kinds = 0.5, ("server error",)
    assert "budget" in runs.refused(price={"completion": 1000.0}, budget={"money": 0.5})
    paid = [cost for cost in runs.all(Answer.cost) if cost]
    assert 0.5 - 2 * max(paid) < sum(paid) <= 0.5 + max(paid)


def test_a_cap_in_money_holds_while_many_calls_are_in_progress(runs: Runs) -> None:
    runs.server.delay = 0.05
    assert "budget" in runs.refused(
        concurrency=64, price={"completion": 1000.0}, budget={"money": 1.0}
    )
    costs = runs.all(Answer.cost)
    assert 1.0 - 2 * max(costs) < sum(costs) <= 1.0 + 1e-9
    assert runs.state() is RunState.PAUSED and runs.server.most_at_once > 4
    assert runs.questions == len(costs), "answered calls are stored"
    assert "budget" in runs.refused(runs.again)
    assert runs.questions == len(costs), "nothing is spent by trying again"


def test_a_pause_ends_the_run_at_once_though_the_server_asked_for_a_long_wait(runs: Runs) -> None:
    def pause(prompt: str) -> None:
        with writing(runs.engine) as session:
            request_pause(session, 1)

    runs.server.always, runs.server.retry_after = lambda prompt: "rate limit", 300
    runs.server.hear, begun = pause, time.monotonic()
    assert "paused" in runs.refused()
    assert time.monotonic() - begun < 150, "half of the wait"


def test_calls_run_in_the_thread_that_waits_unless_it_has_a_loop_as_in_a_notebook() -> None:
    async def calls(number: int) -> int:
        await asyncio.sleep(0)
        return threading.get_ident() // number

    async def cell(number: int) -> int:
        return run_to_end(calls(number))

    assert run_to_end(calls(1)) == threading.get_ident() != asyncio.run(cell(1))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(cell(0))


# -- beside other runs ----------------------------------------------------------------------------


@both_databases
def test_a_run_is_refused_while_another_is_making_its_calls(runs: Runs) -> None:
    first = runs.request(roles=("negation",), selection=FEW)
    message = runs.refused(runs.request)
    assert f"Run {first} " in message and " 11 " in message
    assert len(runs.all(Run.id)) == 1, "nothing of it is stored"
    other = runs.request(roles=("hedge",))
    with writing(runs.engine) as session:
        request_cancel(session, first)
        check_alone(session, other)
    assert runs.request(roles=("negation",)) > other


@both_databases
def test_a_resumed_run_leaves_out_what_another_has_made_meanwhile(runs: Runs) -> None:
    runs.stop_at_budget(10, concurrency=2)
    runs.carry_out(selection={"search": "number 2"})
    before = runs.read(count_calls, 1)[CallState.OPEN]
    assert runs.again()["done"] < 10 + before, "some were made by the second run"
    assert runs.is_each_asked_once and runs.questions == CALLS
    assert len(runs.variants()) == VARIANTS


def test_failed_calls_that_another_run_made_are_closed_unless_it_asked_for_other_types(
    runs: Runs,
) -> None:
    first = runs.request(roles=("hedge",))
    with writing(runs.engine) as session:
        request_cancel(session, first)
        session.execute(update(ModelCall).values(attempts=1))
    for selection, left in (
        (FEW | {"types": ("word",)}, ANCHORS),
        ({"search": "number 2"}, ANCHORS - 5),
    ):
        runs.carry_out(roles=("hedge",), selection=selection)
        assert runs.read(count_left, first) == left
    result = runs.again(first)
    assert (result["done"], result["failed"]) == (ANCHORS - 5, 5)
    mine = select(col(ModelCall.problem)).where(col(ModelCall.run_id) == first)
    assert runs.all(mine).count(AnswerProblem.MADE) == 5 and runs.is_each_asked_once


# -- changes during a run ------------------------------------------------------------------------

OLD, NEW = "The bridge number 3 is safe.", "The bridge number 3 is quite safe."
OLD_ID = 4

Change = Callable[[Engine], None]


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are read from the database in small blocks."""
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


@pytest.mark.usefixtures("few_at_a_time")
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("change", "failed", "variants"),
    [  # the anchor is changed between its two calls; paid answers are kept
        (correct, 0, [(1, False, False)] * 4 + [(2, True, False)] * 2),
        (retire, 1, [(1, False, True)] * 4),
    ],
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


@pytest.mark.usefixtures("few_at_a_time")
def test_a_type_retired_during_a_run_is_no_longer_requested(runs: Runs) -> None:
    when_asked_about_old(runs, retire_types)
    result = runs.carry_out(concurrency=4)
    assert (result["done"], result["failed"]) == (ANCHORS, ANCHORS), "nothing is left of the hedges"
    written = [type_id for _, _, type_id, _ in runs.variants()]
    assert written.count("verbal") == ANCHORS and 0 < written.count("lexical") < ANCHORS - 8
    assert not {"word", "phrase"} & set(written)
    assert not any('"word"' in prompt for prompt in runs.server.asked)


def test_answers_that_come_in_any_order_are_stored_with_their_anchors(runs: Runs) -> None:
    runs.server.spread = 0.3
    runs.carry_out(concurrency=32)
    order = runs.all(select(Answer.call_id).order_by(col(Answer.id)))
    assert order != sorted(order), "otherwise this test shows nothing"
    runs.assert_complete()


# -- reports and costs ----------------------------------------------------------------------------


@pytest.fixture
def half(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A run whose answers lack types and ignore the cue."""
    monkeypatch.setattr(
        "tests.support.servers.chat_server.texts_for",
        lambda prompt: {key: text for key, text in HALF.items() if f'"{key}"' in prompt},
    )
    runs.carry_out(attempts=1, selection={"limit": 5}, price={"prompt": 1.0, "completion": 1.0})
    return runs


@both_databases
def test_a_run_is_reported_with_every_problem_of_its_answers(half: Runs) -> None:
    with reading(half.engine) as session:
        found = progress(session, 1)
        assert found.problems == {AnswerProblem.MISSING_TYPE: 10, AnswerProblem.CUE_IGNORED: 5}
        ignored = last_troubles(session, 1, AnswerProblem.CUE_IGNORED)
        assert ["It is so." in trouble.raw for trouble in ignored] == [True] * 5
        assert last_troubles(session, 1, AnswerProblem.TIMEOUT) == []
        shown = calls_in_full(session, 1, limit=100)
        assert len(shown) == 10
        assert [call.anchor for call in shown[::2]] == [call.anchor for call in shown[1::2]]
        assert {call.variants[0] for call in shown} == set(HALF.items())
        assert len(variant_ids(session, 1, limit=8)) == 8
        assert sum(row.used for row in cue_rows(session, 1) if row.type_id == "word") == 5


def test_the_pace_is_that_of_the_last_minute(half: Runs) -> None:
    with writing(half.engine) as session:
        first = progress(session, 1).spent
        assert (first.attempts, first.per_minute) == (10, 10)
        assert first.cost == pytest.approx((first.prompt_tokens + first.completion_tokens) / 1e6)
        earlier = select(col(Answer.id)).order_by(col(Answer.id)).limit(4)
        long_ago = session.get_one(Answer, 1).created_at - 2 * PACE
        some = update(Answer).where(col(Answer.id).in_(earlier))
        session.execute(some.values(created_at=long_ago))
        assert progress(session, 1).spent.per_minute == 6
        assert progress(session, 2).spent.attempts == 0


def test_a_variant_says_which_prompt_wrote_it(half: Runs) -> None:
    with writing(half.engine) as session:
        variant = session.get_one(Variant, variant_ids(session, 1, limit=1)[0])
        assert written_by(session, variant) == "Run 1, version 1 of the prompt negation."
        assert written_by(session, add_family(session, "The sky is blue.")["verbal"]) == ""
        assert models_used(session, KIND) == ["fake"] and source_ids(session) == {"test": 1}
        example = example_anchor(session, ANCHORS + 1)
        assert example == example_anchor(session, 0) != example_anchor(session, 1)


def test_only_the_budget_of_a_stopped_run_changes(half: Runs) -> None:
    with writing(half.engine) as session:
        with pytest.raises(HedgerowError, match="pause"):
            change_budget(session, 1, Budget(calls=3))
        get_run(session, 1).state = RunState.PAUSED
        session.flush()
        before = dict(get_run(session, 1).parameters)
        change_budget(session, 1, Budget(calls=3, money=2.5))
        session.expire_all()
        after = get_run(session, 1).parameters
        assert after == before | {"budget": {"calls": 3, "money": 2.5}}


def test_a_trial_asks_about_three_anchors_at_once() -> None:
    whole = checked_request({"model": "fake", "batch": True, "price": Price(prompt=1.0)})
    trial = trial_of(whole)
    assert (trial.selection.limit, trial.batch, trial.price) == (3, False, whole.price)
    for request, expected in ((trial, True), (whole, False)):
        assert is_trial(Run(kind=KIND, parameters=request.model_dump(mode="json"))) is expected
    small = whole.model_copy(update={"selection": whole.selection.model_copy(update={"limit": 2})})
    assert trial_of(small).selection.limit == 2


def test_an_estimate_rests_on_a_trial_and_comes_true(runs: Runs) -> None:
    runs.server.delay = 0.02
    how = {"price": PRICE, "concurrency": 4}
    request = checked_request({"model": "fake", "base_url": runs.address} | how)
    before = runs.read(estimate, request)
    assert (before.anchors, before.total_calls, before.cost) == (ANCHORS, CALLS, None)
    runs.carry_out(**how, selection={"limit": 3})
    estimated = runs.read(estimate, request)
    assert (estimated.anchors, estimated.total_calls, estimated.based_on) == (
        ANCHORS - 3,
        CALLS - 6,
        6,
    )
    assert estimated.cost == pytest.approx(runs.carry_out(**how)["cost"], rel=0.15)
    assert estimated.seconds is not None and estimated.seconds > (CALLS - 6) * 0.02 / 4


@both_databases
def test_costs_add_up_and_are_reported_by_type_and_accepted_variant(runs: Runs) -> None:
    result = runs.carry_out(price=PRICE)
    with writing(runs.engine) as session:
        verbal = select(Variant).where(Variant.type_id == "verbal").order_by(Variant.id).limit(10)
        for variant in session.execute(verbal).scalars():
            deciding.accept(session, deciding.shown(variant), reviewer_id=person(session))
    rows = {row.type_id: row for row in runs.read(cost_rows)}
    spent = sum(runs.all(Answer.cost))
    assert [row.type_id for row in runs.read(cost_rows, run_id=1)] == list(rows)
    assert runs.read(cost_rows, run_id=2) == []
    assert sum(row.cost for row in rows.values()) == pytest.approx(spent)
    assert spent == pytest.approx(result["cost"], abs=1e-5)
    found = rows["verbal"]
    assert (found.calls, found.variants, found.accepted) == (ANCHORS, ANCHORS, 10)
    assert found.per_accepted == pytest.approx(ANCHORS / 10 * (found.per_variant or 0))
    assert rows["word"].per_accepted is None


def test_a_dated_model_costs_what_its_family_does_unless_the_project_knows_better(
    local_runs: Runs,
) -> None:
    with writing(local_runs.engine) as session:
        family = price_of(session, "gpt-4o-mini")
        assert family is not None and price_of(session, "gpt-4o-mini-2024-07-18") == family
        assert price_of(session, "gpt-4o") != family and price_of(session, "llama") is None
        online = checked_request({"model": "gpt-4o-mini", "price": family.model_dump()})
        batch = online.model_copy(update={"batch": True})
        assert online.charged == family and batch.charged.prompt == family.prompt / 2
        for own, price in ((Price(prompt=9), Price(prompt=9)), (None, family)):
            set_price(session, "gpt-4o-mini", own)
            assert price_of(session, "gpt-4o-mini") == price
        with pytest.raises(HedgerowError, match="name"):
            set_price(session, " ", Price())


def test_an_amount_below_a_cent_does_not_read_as_nothing() -> None:
    found = [dollars(amount) for amount in (0, 1234.5, 0.01, 0.005, 0.0000412)]
    assert found == ["$0.00", "$1,234.50", "$0.01", "$0.0050", "$0.000041"]
