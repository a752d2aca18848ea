"""Token counts of a call: as reported by the server if plausible, else estimated.

Budgets depend on these numbers, so a server that omits them or sends nonsense must not make a call
free.
"""

from collections.abc import Mapping
from typing import Any

from curation.generation.providers.chat.completions import Reply

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
