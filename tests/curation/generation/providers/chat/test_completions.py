"""Reading a server's replies, whatever they contain."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.generation.providers.chat.answers import AnswerProblem
from curation.generation.providers.chat.completions import (
    CallError,
    Reply,
    read_completion,
    retry_after,
)

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "refusal"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANY_JSON)
def test_no_body_of_an_answer_is_more_than_an_answer_or_a_problem(body: Any) -> None:
    try:
        reply = read_completion(body)
    except CallError as error:
        assert error.problem is AnswerProblem.SERVER  # noqa: PT017
    else:
        assert isinstance(reply, Reply)
        assert all(isinstance(part, str) for part in (reply.raw, reply.refusal))


@pytest.mark.parametrize("tokens", [-1, 2**31, 10**20, 1.5, "12", None, [3]])
def test_an_impossible_token_count_is_not_stored(tokens: Any) -> None:
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": tokens}}
    assert read_completion(body).prompt_tokens is None


def waiting(header: str) -> float | None:
    return retry_after(httpx2.Response(429, headers={"retry-after": header}))


def test_a_wait_is_a_number_or_a_date_and_never_too_long() -> None:
    assert waiting("2.5") == 2.5
    assert waiting("99999999") == 99_999_999
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert 25 < (waiting(format_datetime(soon, usegmt=True)) or 0) <= 30
    assert waiting("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [waiting(header) for header in ("", "soon", "-1", "nan", "inf")] == [None] * 5
