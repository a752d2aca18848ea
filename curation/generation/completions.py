"""What comes back from a call: a model's answer, or what went wrong in place of one."""

import json
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx2

from curation.generation.answers import Problem

MAX_WAIT_SECONDS = 600.0
"""The longest wait that a server's Retry-After is believed."""

MAX_TOKENS = 2**31 - 1
"""More than that is no number of tokens, and no column holds it."""


class Reply(NamedTuple):
    """A model's answer as it came.

    Attributes:
        finish_reason: 'stop', or why it ended otherwise ('length', 'content_filter').
        prompt_tokens, completion_tokens: as the server reports them; None where it does not.
    """

    raw: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    refusal: str = ""


class CallError(Exception):
    """A call that brought no answer.

    Attributes:
        retry_after: seconds the server asks to wait; None where it says nothing.
    """

    def __init__(self, problem: Problem, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.retry_after = retry_after


def read_completion(body: Any) -> Reply:
    """Read a completion, as parsed JSON; servers differ in what they leave out.

    Raises:
        CallError: it holds no message.
    """
    try:
        choice = body["choices"][0]
        message, usage = choice["message"], body.get("usage") or {}
        return Reply(
            raw=_text(message.get("content")),
            finish_reason=_text(choice.get("finish_reason")),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            refusal=_text(message.get("refusal")),
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise CallError(Problem.SERVER, "The server sent an answer without a message.") from error


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= MAX_TOKENS else None


def retry_after(response: httpx2.Response) -> float | None:
    """Seconds to wait that a server's Retry-After names, as a number or a date; else None."""
    said = response.headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        seconds = _seconds_until(said)
    return min(seconds, MAX_WAIT_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None


def _seconds_until(date: str) -> float:
    """NaN where it is no date."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
