"""The results of a run so far, and what may change after it has stopped."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update
from sqlmodel import col

from curation.anchors.lookup import source_ids
from curation.generation.choices import change_budget, is_trial, trial_of
from curation.generation.prompts import example_anchor
from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.request import KIND, Budget, Price
from curation.generation.run import checked_request
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
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Answer, Run, RunState, Variant
from db.runs import get_run
from tests.curation.generation.test_run import carry_out
from tests.curation.generation.test_run import unmeasured as unmeasured
from tests.support.databases import both_databases, one_database
from tests.support.factories import add_family
from tests.support.generating import Serve

pytestmark = both_databases

HALF = {"verbal": "It is not so.", "word": "It is so."}


@pytest.fixture
def half(anchors: Engine, home: Path, serve_chat: Serve, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of a run whose answers lack types and ignore the cue."""
    monkeypatch.setattr(
        "tests.support.servers.chat_server.texts_for",
        lambda prompt: {key: text for key, text in HALF.items() if f'"{key}"' in prompt},
    )
    address, _ = serve_chat()
    run_id, _ = carry_out(
        anchors,
        home,
        base_url=address,
        attempts=1,
        selection={"limit": 5},
        price={"prompt": 1.0, "completion": 1.0},
    )
    return run_id


def test_every_problem_of_an_answer_counts(anchors: Engine, half: int) -> None:
    with reading(anchors) as session:
        assert progress(session, half).problems == {
            AnswerProblem.MISSING_TYPE: 10,
            AnswerProblem.CUE_IGNORED: 5,
        }
        ignored = last_troubles(session, half, AnswerProblem.CUE_IGNORED)
        assert len(ignored) == 5
        assert {"It is so." in trouble.raw for trouble in ignored} == {True}
        assert last_troubles(session, half, AnswerProblem.TIMEOUT) == []
        shown = calls_in_full(session, half, limit=100)
        assert len(shown) == 10
        assert [call.anchor for call in shown[::2]] == [call.anchor for call in shown[1::2]]
        assert {call.variants[0] for call in shown} == set(HALF.items())
        assert len(variant_ids(session, half, limit=8)) == 8
        assert sum(row.used for row in cue_rows(session, half) if row.type_id == "word") == 5


@one_database
def test_the_pace_is_that_of_the_last_minute(anchors: Engine, half: int) -> None:
    with writing(anchors) as session:
        first = progress(session, half).spent
        assert (first.attempts, first.per_minute) == (10, 10)
        assert first.cost == pytest.approx((first.prompt_tokens + first.completion_tokens) / 1e6)
        earlier = select(col(Answer.id)).order_by(col(Answer.id)).limit(4)
        session.execute(
            update(Answer)
            .where(col(Answer.id).in_(earlier))
            .values(created_at=session.get_one(Answer, 1).created_at - 2 * PACE)
        )
        assert progress(session, half).spent.per_minute == 6
        assert progress(session, half + 1).spent.attempts == 0


@one_database
def test_a_variant_says_which_prompt_wrote_it(anchors: Engine, half: int) -> None:
    with writing(anchors) as session:
        variant = session.get_one(Variant, variant_ids(session, half, limit=1)[0])
        assert written_by(session, variant) == (f"Run {half}, version 1 of the prompt negation.")
        assert written_by(session, add_family(session, "The sky is blue.")["verbal"]) == ""
        assert models_used(session, KIND) == ["fake"]
        assert source_ids(session) == {"test": 1}
        example = example_anchor(session, 41)
        assert example == example_anchor(session, 0) != example_anchor(session, 1)


@one_database
def test_only_the_budget_of_a_stopped_run_changes(anchors: Engine, half: int) -> None:
    with writing(anchors) as session, pytest.raises(HedgerowError, match="pause it first"):
        change_budget(session, half, Budget(calls=3))
    with writing(anchors) as session:
        session.execute(update(Run).values(state=RunState.PAUSED))
        before = dict(get_run(session, half).parameters)
        change_budget(session, half, Budget(calls=3, money=2.5))
        session.expire_all()
        after = get_run(session, half).parameters
        assert after == before | {"budget": {"calls": 3, "money": 2.5}}


def test_a_trial_asks_about_three_anchors_at_once() -> None:
    whole = checked_request({"model": "fake", "batch": True, "price": Price(prompt=1.0)})
    trial = trial_of(whole)
    assert (trial.selection.limit, trial.batch, trial.price) == (3, False, whole.price)
    assert is_trial(Run(kind=KIND, parameters=trial.model_dump(mode="json")))
    assert not is_trial(Run(kind=KIND, parameters=whole.model_dump(mode="json")))
    small = whole.model_copy(update={"selection": whole.selection.model_copy(update={"limit": 2})})
    assert trial_of(small).selection.limit == 2
