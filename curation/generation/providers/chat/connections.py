"""Connections for many concurrent calls that do not slow each other down.

httpx keeps all connections in one pool and examines each of them whenever a call begins or ends,
which with 64 concurrent calls is a quarter of the work. Here a call uses a lane, which is a pool
with one connection, and then passes it on to the next call.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from urllib.request import getproxies

import httpx2
from openai import DefaultAsyncHttpxClient

from curation.generation.providers.chat.answer_limits import bounded


class Lanes(httpx2.AsyncBaseTransport):
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
    mounts = {} if "all" in getproxies() else {"all://": Lanes(context)}
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
