"""A chat server for tests that generate, imported by the conftest of their folder."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from tests.support.servers.chat_server import ChatServer

Serve = Callable[..., tuple[str, ChatServer]]


@contextmanager
def serving() -> Iterator[Serve]:
    """Start chat servers with these faults. Yields a function that returns the address and the
    server."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(**how: Any) -> tuple[str, ChatServer]:
        application: Any = ChatServer(**how)
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(application, log_level="critical", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        servers.append((server, thread))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1", application

    yield start
    for server, thread in servers:
        server.should_exit = server.force_exit = True  # do not wait for hanging answers
        thread.join(timeout=10)


@pytest.fixture
def serve_chat() -> Iterator[Serve]:
    """The same for one test."""
    with serving() as start:
        yield start
