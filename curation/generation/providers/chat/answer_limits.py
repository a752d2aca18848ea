"""Limits on reading answers: a server may send without end, or one byte per minute.

Both limits are enforced while the answer arrives, so that no call uses more memory.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
import openai

from curation.generation.answers import AnswerProblem

ROOM_BYTES = 100_000
"""Bytes for everything in an answer except the model's text."""

BYTES_A_TOKEN = 50
"""Bytes for a token: its text with JSON escapes, six bytes per character, plus reasoning."""

OTHER_BYTES = 4_000_000
"""Bytes for a server's reply about batches; a page lists a hundred of them."""

KEPT = 10_000
"""Characters of an oversized answer that are stored for inspection."""

FILE = "/content"
"""The end of the path of files with answers, which are read in pieces and not kept in memory."""


class BadBody(openai.APIError):
    """An answer that was not read to its end.

    Attributes:
        head: the bytes that arrived, up to the limit.
    """

    def __init__(
        self, request: httpx2.Request, problem: AnswerProblem, message: str, head: bytes = b""
    ) -> None:
        super().__init__(message, request, body=None)
        self.problem, self.head = problem, head


def most_bytes(max_tokens: int) -> int:
    """Return the maximum bytes of an answer with this many tokens."""
    return ROOM_BYTES + BYTES_A_TOKEN * max_tokens


def bounded(most: int, path: str) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook for a client that limits how much of each response is read.

    Args:
        most: maximum bytes of an answer from a path that ends with ``path``.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.request.url.path.endswith(FILE):
            return
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A small compressed answer can expand to any size.
            text = (
                "The server sent a compressed answer, although Hedgerow asked for an "
                "uncompressed one."
            )
            raise BadBody(response.request, AnswerProblem.SERVER, text)
        is_answer = response.request.url.path.endswith(path)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(
            response.stream, response.request, most if is_answer else OTHER_BYTES
        )

    return bound


class _Bounded(httpx2.AsyncByteStream):
    """Yields the bytes of an answer, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, most: int) -> None:
        self._stream, self._request, self._most = stream, request, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts, size = [], 0
        async for part in self._stream:
            parts.append(part)
            size += len(part)
            if size > self._most:
                text = f"The server sent more than {self._most:,} bytes in one answer."
                head = b"".join(parts)[: self._most]
                raise BadBody(self._request, AnswerProblem.TOO_LONG, text, head)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
