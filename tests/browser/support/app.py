"""``hedgerow app`` for a working directory, in its own process."""

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy.orm import Session

from curation.diagnostics import measuring
from db.runs import create_run

COMMAND = str(Path(sys.executable).with_name("hedgerow"))


class App:
    """An app on one port, which runs within a ``with`` and can be stopped and started again.

    Attributes:
        address: its address. The system chooses the port, because another process may be starting
            apps at the same time.
    """

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        """Take a working directory, and additional environment variables."""
        self._home = home
        others = {k: v for k, v in os.environ.items() if not k.startswith("HEDGEROW_")}
        lock = str(home / "training.lock")
        own = {"HEDGEROW_HOME": str(home), "HEDGEROW_TRAINING_LOCK": lock}
        self._environment = others | own | dict(environment or {})
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the app, and wait until it answers."""
        self._process = subprocess.Popen(
            [COMMAND, "app", "--port", str(self._port)],
            cwd=self._home,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        output = self._process.stdout
        if not any(self.address in line for line in output or ()):
            pytest.fail(f"hedgerow app ended with {self._process.wait()}")
        # Nobody reads the rest, and a full pipe would stop the app.
        Thread(target=deque, args=(output, 0), daemon=True).start()

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the app and all its child processes, if it is running."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, how)
            self._process.wait(timeout=20)

    def __enter__(self) -> "App":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def let_measuring_wait(session: Session) -> None:
    """Store a measuring run that nobody starts.

    Otherwise every edit and every start of an app would start one. Loading the encoder takes
    several times as long as a test, and continues during the next tests.
    """
    create_run(session, kind=measuring.KIND, parameters={})
