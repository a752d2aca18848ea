"""The result of a call: a model's answer, or an error."""

import json
import math
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr

from curation.generation.answers import AnswerProblem
from db.errors import HedgerowError
from db.settings import Settings

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
        except ValueError:  # or it has a number of thousands of digits, which is slower to detect
            return json.loads(
                content, parse_int=lambda one: int(one) if len(one) <= MAX_DIGITS else math.inf
            )
    except (ValueError, RecursionError) as error:
        raise CallError(AnswerProblem.SERVER, "The server's answer is not JSON.") from error


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


# -- The addresses of calls, and which of them get the API key from the environment ---------------


OWN_ADDRESS = "https://api.openai.com/v1"
"""OpenAI's own address, the default."""

KEY_VARIABLE, ADDRESS_VARIABLE = "HEDGEROW_OPENAI_API_KEY", "HEDGEROW_OPENAI_BASE_URL"
"""Environment variables from which a run's process reads key and address."""


def address_of(base_url: str, settings: Settings) -> str:
    """Return the address for a request's calls.

    Args:
        base_url: the request's address; '' for the environment's address, or else OpenAI's.
    """
    return base_url or settings.openai_base_url or OWN_ADDRESS


def is_own(address: str) -> bool:
    """Whether it is OpenAI itself, which needs a key."""
    return comparable(address) == comparable(OWN_ADDRESS)


def comparable(address: str) -> str:
    """Return the address in a normalised form for comparisons."""
    try:
        parts = urlsplit(address.strip())
        login, at, host = parts.netloc.rpartition("@")
    except (
        ValueError
    ):  # such as an IPv6 address without its closing bracket; nothing else equals it
        return address.strip()
    return f"{parts.scheme}://{login}{at}{host.lower()}{parts.path.rstrip('/')}?{parts.query}"


def require_key(base_url: str, settings: Settings, keys: Container[str] = ()) -> None:
    """Refuse calls that would fail for lack of a key.

    Args:
        keys: variables that the calling process will have in addition to the environment's.

    Raises:
        HedgerowError: they go to OpenAI itself, and there is no key for it.
    """
    has_key = KEY_VARIABLE in keys or key_for(base_url, settings).get_secret_value()
    if is_own(address_of(base_url, settings)) and not has_key:
        raise HedgerowError(
            f"OpenAI needs an API key; set OPENAI_API_KEY or {KEY_VARIABLE}, or give the address "
            "of another server (base URL)."
        )


def key_for(base_url: str, settings: Settings) -> SecretStr:
    """Return the environment's key if it may be sent to this address; otherwise an empty one."""
    address = comparable(address_of(base_url, settings))
    allowed = {comparable(address_of("", settings)), comparable(OWN_ADDRESS)}
    return settings.openai_api_key if address in allowed else SecretStr("")


# -- Token counts of a call: as reported by the server if plausible, else estimated ---------------


BYTES_A_TOKEN = 3
"""Bytes of UTF-8 per token for estimates.

OpenAI's rule of thumb is four characters of English (its help centre, "What are tokens and how to
count them?"). Other languages and JSON need more tokens for the same text, so three errs on the
side of a higher cost.
"""

MOST_BYTES_A_TOKEN = 12
"""No tokenizer averages more bytes per token over a text; whole words have five or six."""

FRAME = 7
"""Tokens around a message: three for the message, one for its role, three before the answer
(OpenAI's cookbook, "How to count tokens with tiktoken").
"""

SLACK = 20_000
"""Tokens that a server may add: a system prompt, the answer's schema, extra reasoning."""


def with_trusted_tokens(reply: Reply, request: Mapping[str, Any]) -> Reply:
    """Return the reply with plausible token counts; those that the server omits are estimated.

    Args:
        reply: with the token counts that the server reports.
        request: the body of its request.
    """
    asked = sum(_bytes(str(message["content"])) for message in request["messages"])
    limit = request.get("max_tokens") or request.get("max_completion_tokens") or 0
    shown = _bytes(reply.raw) + _bytes(reply.refusal)
    written = shown + reply.hidden
    prompt = _believed(reply.prompt_tokens, least=asked, most=asked)
    completion = _believed(reply.completion_tokens, least=shown, most=max(limit, written))
    if prompt is not None and completion is not None:
        return reply
    form = len(str(request.get("response_format", "")))
    counted = _tokens(written, BYTES_A_TOKEN)
    if reply.finish_reason == "length":  # it wrote as much as allowed, visible or not
        counted = max(counted, limit)
    return reply._replace(
        prompt_tokens=_tokens(asked + form, BYTES_A_TOKEN) + FRAME if prompt is None else prompt,
        completion_tokens=counted if completion is None else completion,
        is_estimate=True,
    )


def _believed(tokens: int | None, *, least: int, most: int) -> int | None:
    """Return the server's count if it is plausible; ``least`` and ``most`` are in bytes of text."""
    if tokens is None or not _tokens(least, MOST_BYTES_A_TOKEN) <= tokens <= most + SLACK:
        return None
    return tokens


def _tokens(size: int, bytes_a_token: int) -> int:
    return -(-size // bytes_a_token)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
