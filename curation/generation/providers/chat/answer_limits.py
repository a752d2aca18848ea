"""Limits on reading answers: a server may send without end, or one byte per minute.

Both bounds are held while the answer arrives, so that no call holds more memory than that.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
import openai

from curation.generation.providers.chat.answers import AnswerProblem

ROOM_BYTES = 100_000
"""For all in an answer but the text that a model writes."""

BYTES_A_TOKEN = 50
"""Room for a token: its text as JSON escapes it, six bytes for a character, and thoughts."""

OTHER_BYTES = 4_000_000
"""Of what a server says about batches; a hundred of them are on a page."""

KEPT = 10_000
"""Characters of an answer beyond its bounds that are stored, to be looked at."""

FILE = "/content"
"""How the path of a file of answers ends; it is read in pieces, none of which is kept."""


class BadBody(openai.APIError):
    """An answer that was not read to its end.

    Attributes:
        head: the bytes that arrived, at most as many as may.
    """

    def __init__(
        self, request: httpx2.Request, problem: AnswerProblem, message: str, head: bytes = b""
    ) -> None:
        super().__init__(message, request, body=None)
        self.problem, self.head = problem, head


def most_bytes(max_tokens: int) -> int:
    """The bytes of a longest answer of so many tokens."""
    return ROOM_BYTES + BYTES_A_TOKEN * max_tokens


def bounded(most: int, path: str) -> Callable[[httpx2.Response], Awaitable[None]]:
    """What a client does with each response before it reads it: bounds how much it reads.

    Args:
        most: bytes of an answer from a path that ends with ``path``.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.request.url.path.endswith(FILE):
            return
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A small one may unfold to anything.
            said = (
                "The server sent a compressed answer, although Hedgerow asked for an "
                "uncompressed one."
            )
            raise BadBody(response.request, AnswerProblem.SERVER, said)
        is_answer = response.request.url.path.endswith(path)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(
            response.stream, response.request, most if is_answer else OTHER_BYTES
        )

    return bound


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of an answer, up to a bound."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, most: int) -> None:
        self._stream, self._request, self._most = stream, request, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts, size = [], 0
        async for part in self._stream:
            parts.append(part)
            size += len(part)
            if size > self._most:
                said = f"The server sent more than {self._most:,} bytes in one answer."
                head = b"".join(parts)[: self._most]
                raise BadBody(self._request, AnswerProblem.TOO_LONG, said, head)
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
