"""Token counts of a call: as reported by the server if plausible, else estimated.

Budgets depend on these numbers, so a server that omits them or sends nonsense must not make a call
free.
"""

from collections.abc import Mapping
from typing import Any

from curation.generation.providers.chat.completions import Reply

BYTES_A_TOKEN = 3
"""Bytes of UTF-8 in a token, to count by. OpenAI's rule of thumb is four characters of English
(its help centre, "What are tokens and how to count them?"); other languages and JSON take more
tokens for the same text, so that three errs on the side of a higher cost."""

MOST_BYTES_A_TOKEN = 12
"""More than that in the average of a text is no tokenizer's: whole words have five or six."""

FRAME = 7
"""Tokens around a message: three for the message, one for its role, three that begin the answer
(OpenAI's cookbook, "How to count tokens with tiktoken")."""

SLACK = 20_000
"""Tokens that a server may add of its own: a system prompt, the form that an answer must have,
thoughts beyond the limit."""


def with_trusted_tokens(reply: Reply, request: Mapping[str, Any]) -> Reply:
    """The reply with token counts that can be true; what the server does not say is counted.

    Args:
        reply: with the counts as the server reports them.
        request: the body of the request that it answers.
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
    if reply.finish_reason == "length":  # it wrote as much as it may, seen or unseen
        counted = max(counted, limit)
    return reply._replace(
        prompt_tokens=_tokens(asked + form, BYTES_A_TOKEN) + FRAME if prompt is None else prompt,
        completion_tokens=counted if completion is None else completion,
        is_estimate=True,
    )


def _believed(tokens: int | None, *, least: int, most: int) -> int | None:
    """What a server reports, where it can be true; ``least`` and ``most`` are in bytes of text."""
    if tokens is None or not _tokens(least, MOST_BYTES_A_TOKEN) <= tokens <= most + SLACK:
        return None
    return tokens


def _tokens(size: int, bytes_a_token: int) -> int:
    return -(-size // bytes_a_token)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
