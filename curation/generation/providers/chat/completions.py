"""The result of a call: a model's answer, or an error."""

import json
import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx2

from curation.generation.answers import AnswerProblem

MAX_TOKENS = 2**31 - 1
"""A larger number is not a token count and does not fit into a database column."""

MAX_DIGITS = 20
"""Maximum digits of a number in an answer; Python refuses to parse thousands."""


class Reply(NamedTuple):
    """A model's unchanged answer.

    Attributes:
        finish_reason: 'stop', or another reason ('length', 'content_filter').
        prompt_tokens, completion_tokens: as reported by the server; None if it reports none.
            Replies from a ``ChatModel`` have both (see ``usage``).
        hidden: bytes of other output from the model, such as its reasoning.
        is_estimate: whether we estimated the token counts.
    """

    raw: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    refusal: str = ""
    hidden: int = 0
    is_estimate: bool = False


class CallError(Exception):
    """A call without an answer.

    Attributes:
        retry_after: seconds that the server asks to wait; None if it doesn't say.
        reply: whatever arrived and must be paid for, although it is not an answer.
    """

    def __init__(
        self,
        problem: AnswerProblem,
        message: str,
        *,
        retry_after: float | None = None,
        reply: Reply | None = None,
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.retry_after = retry_after
        self.reply = reply


def read_json(content: bytes) -> Any:
    """Parse the JSON that a server sent.

    Raises:
        CallError: it is not JSON.
    """
    try:
        try:
            return json.loads(content)
        except (
            ValueError
        ):  # or contains a number of thousands of digits, which would take longer to detect
            return json.loads(content, parse_int=_int)
    except (ValueError, RecursionError) as error:
        raise CallError(AnswerProblem.SERVER, "The server's answer is not JSON.") from error


def _int(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_DIGITS else math.inf


def read_completion(body: Any) -> Reply:
    """Read a completion from parsed JSON; servers omit different parts.

    Raises:
        CallError: it contains no message.
    """
    try:
        choice = body["choices"][0]
        message, usage = choice["message"], body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            raw=_text(message.get("content")),
            finish_reason=_text(choice.get("finish_reason")),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            refusal=_text(message.get("refusal")),
            hidden=sum(
                len(_text(message.get(name)).encode("utf-8", "replace")) for name in _THOUGHTS
            ),
        )
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise CallError(
            AnswerProblem.SERVER, "The server sent an answer without a message."
        ) from error


_THOUGHTS = ("reasoning", "reasoning_content")
"""Fields in which servers send a model's reasoning."""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def _count(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_TOKENS else None


def retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds in a server's Retry-After, a number or a date; None if there are none.

    This may be years.
    """
    header = response.headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _seconds_until(date: str) -> float:
    """Return NaN if it is not a date."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return math.nan
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
