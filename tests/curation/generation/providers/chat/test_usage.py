"""Token counts that a budget can rely on, whatever a server reports."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from sqlmodel import col

from curation.generation.providers.chat.completions import Reply, read_completion, read_json
from curation.generation.providers.chat.usage import SLACK, with_trusted_tokens
from db.engine import reading
from db.errors import HedgerowError
from db.models import Answer, Run, RunState
from tests.curation.generation.conftest import Serve
from tests.curation.generation.test_run import carry_out, unmeasured  # noqa: F401

PROMPT = "Write a negation of this text. " * 20
ANSWER = "The bridge over the river is not safe in winter. " * 10
REQUEST = {"model": "fake", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1000}

NONSENSE: list[Any] = [
    None,
    {},
    "many",
    [1],
    12,
    {"prompt_tokens": None, "completion_tokens": None},
    {"prompt_tokens": "200", "completion_tokens": "90"},
    {"prompt_tokens": -5, "completion_tokens": -1},
    {"prompt_tokens": 10**12, "completion_tokens": 10**12},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": math.nan, "completion_tokens": math.inf},
    {"prompt_tokens": True, "completion_tokens": True},
    {"prompt_tokens": 2_000_000, "completion_tokens": 2_000_000},
]


def reply(usage: Any, *, finish: str = "stop", **message: Any) -> Reply:
    answer = {"role": "assistant", "content": ANSWER} | message
    body = {"choices": [{"message": answer, "finish_reason": finish}], "usage": usage}
    return with_trusted_tokens(read_completion(body), REQUEST)


@pytest.mark.parametrize("usage", NONSENSE)
def test_tokens_that_are_not_reported_or_cannot_be_true_are_counted(usage: Any) -> None:
    found = reply(usage)
    assert found.is_estimate
    assert len(PROMPT) / 4 < (found.prompt_tokens or 0) < len(PROMPT)
    assert len(ANSWER) / 4 < (found.completion_tokens or 0) < len(ANSWER)


def test_tokens_that_can_be_true_are_taken_as_reported() -> None:
    found = reply({"prompt_tokens": 130, "completion_tokens": 110})
    assert (found.prompt_tokens, found.completion_tokens) == (130, 110)
    assert not found.is_estimate


def test_one_count_that_is_missing_leaves_the_other_as_reported() -> None:
    found = reply({"prompt_tokens": 130})
    assert found.prompt_tokens == 130 and found.is_estimate
    assert len(ANSWER) / 4 < (found.completion_tokens or 0) < len(ANSWER)


def test_thoughts_and_answers_that_were_cut_off_are_counted_too() -> None:
    thoughtful = reply(None, reasoning_content="Let me think. " * 1000)
    assert (thoughtful.completion_tokens or 0) > 14_000 / 4
    assert (reply(None, finish="length").completion_tokens or 0) >= 1000


def test_numbers_of_any_length_are_read() -> None:
    body = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": %s}}'
    assert read_completion(read_json(body % (b"9" * 5000))).raw == "x"


@given(
    usage=st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    ),
    text=st.text(max_size=200),
)
def test_implausible_token_counts_are_replaced_by_plausible_costs(usage: Any, text: str) -> None:
    body = {"choices": [{"message": {"content": text}}], "usage": usage}
    found = with_trusted_tokens(read_completion(json.loads(json.dumps(body))), REQUEST)
    size = len(text.encode("utf-8", "replace"))
    assert len(PROMPT) / 12 <= (found.prompt_tokens or 0) <= len(PROMPT) + SLACK
    assert size / 12 <= (found.completion_tokens or 0) <= max(1000, size) + SLACK


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": 10**12}])
@pytest.mark.parametrize("batch", [False, True])
def test_a_cap_in_money_holds_though_the_server_reports_no_tokens(
    anchors: Engine,
    home: Path,
    serve_chat: Serve,
    monkeypatch: pytest.MonkeyPatch,
    usage: Any,
    batch: bool,
) -> None:
    monkeypatch.setattr("curation.generation.providers.waiting.POLL_SECONDS", 0.01)
    address, server = serve_chat()
    server.reports = lambda usage_: usage
    with pytest.raises(HedgerowError, match=r"for about \$.* \(estimated: the server reports no"):
        carry_out(
            anchors,
            home,
            base_url=address,
            price={"prompt": 1000.0, "completion": 1000.0},
            budget={"money": 5.0},
            batch=batch,
        )
    with reading(anchors) as session:
        rows = session.execute(select(col(Answer.cost), col(Answer.is_estimate))).all()
        assert session.execute(select(col(Run.state))).scalar_one() is RunState.PAUSED
    costs = [cost or 0.0 for cost, _ in rows]
    assert min(costs) > 0.1 and all(is_estimate for _, is_estimate in rows)
    assert 5.0 - 2 * max(costs) < sum(costs) <= 5.0 + max(costs)
    assert sum(server.asked.values()) < 80


def test_a_cost_that_the_server_reports_is_not_an_estimate(
    anchors: Engine, home: Path, serve_chat: Serve
) -> None:
    address, server = serve_chat()
    price = {"completion": 1.0}
    _, result = carry_out(anchors, home, base_url=address, price=price, selection={"limit": 2})
    assert result["cost"] > 0 and not result["cost_is_estimate"]
    server.reports = lambda usage: None
    _, result = carry_out(anchors, home, base_url=address, price=price, selection={"limit": 2})
    assert result["cost"] > 0 and result["cost_is_estimate"]
