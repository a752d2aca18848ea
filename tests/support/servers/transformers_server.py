"""`transformers serve` with a model in a folder, as a separate process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

START_SECONDS = 180


@contextmanager
def transformers_server(model: Path, *, log: Path) -> Iterator[str]:
    """The address of a server with this model, until the end of the block.

    Args:
        log: the file for its output.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(model)]
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            stdout=out,
            stderr=out,
            env=os.environ | {"HF_HUB_OFFLINE": "1"},
        )
    try:
        until = time.monotonic() + START_SECONDS
        while not _is_up(port):
            assert server.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def _is_up(port: int) -> bool:
    try:
        return urlopen(f"http://127.0.0.1:{port}/health").status == 200
    except OSError:
        return False
