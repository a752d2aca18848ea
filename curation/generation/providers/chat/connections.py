"""Connections for many concurrent calls that do not slow each other down.

httpx keeps all connections in one pool and examines each of them whenever a call begins or ends,
which with 64 concurrent calls is a quarter of the work. Here a call uses a lane, which is a pool
with one connection, and then passes it on to the next call.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.request import getproxies

import httpx2
import openai
from openai import DefaultAsyncHttpxClient

from curation.generation.answers import AnswerProblem


class ConnectionPerCall(httpx2.AsyncBaseTransport):
    """One lane per concurrent call. The most recently used lane is reused first."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._all: list[httpx2.AsyncHTTPTransport] = []
        self._free: list[httpx2.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request in a lane, which is free again when the answer has been read."""
        lane = self._free.pop() if self._free else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._free.append(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Stream(response.stream, lambda: self._free.append(lane))
        return response

    def _new(self) -> httpx2.AsyncHTTPTransport:
        lane = httpx2.AsyncHTTPTransport(verify=self._context)
        self._all.append(lane)
        return lane

    async def aclose(self) -> None:
        """Close all connections."""
        for lane in self._all:
            await lane.aclose()


class _Stream(httpx2.AsyncByteStream):
    """The bytes of an answer; signals when it has been read or abandoned."""

    def __init__(self, stream: httpx2.AsyncByteStream, ended: Callable[[], None]) -> None:
        self._stream, self._ended = stream, ended
        self._has_ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            if not self._has_ended:
                self._has_ended = True
                self._ended()


def http_client(most: int, path: str) -> httpx2.AsyncClient:
    """Return a client that uses lanes, or the proxy that the environment names.

    Args:
        most: maximum bytes of an answer from a path that ends with ``path``.
    """
    context = httpx2.create_ssl_context()
    mounts = {} if "all" in getproxies() else {"all://": ConnectionPerCall(context)}
    return DefaultAsyncHttpxClient(
        follow_redirects=False,  # texts and key may only go to the address that the user gave
        mounts=mounts,
        limits=_LIMITS,
        verify=context,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bounded(most, path)]},
    )


_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
"""Settings without lanes; the number of concurrent calls is limited elsewhere."""


# -- Limits on reading answers: a server may send without end, or one byte per minute -------------


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
