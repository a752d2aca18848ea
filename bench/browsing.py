"""Servers and Chromium for measurements in a real browser."""

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
POLL_SECONDS = 0.02
PATIENCE_SECONDS = 120


def free_port() -> int:
    """A free port on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium at the path HEDGEROW_TEST_CHROMIUM; by default the path on Debian."""
    with sync_playwright() as driver:
        path = os.environ.get("HEDGEROW_TEST_CHROMIUM", "/usr/bin/chromium")
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def serving(
    command: Sequence[str], *, port: int, folder: Path, environment: Mapping[str, str]
) -> Iterator[str]:
    """Start a server with this command, and yield its address when it answers."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{address}/_stcore/health")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it waits for an open browser
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", address: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=5).read()
            return
        except OSError:
            time.sleep(POLL_SECONDS)
    raise RuntimeError(f"{address} does not answer.")
