"""``hedgerow app`` for a working directory, in its own process."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy.orm import Session

from curation.diagnostics import measuring
from curation.encoders.model_folders import BUILT_IN
from db.runs import create_run
from training.evaluation.probe_sets import FIGURE_1_SET
from training.evaluation.similarity_run import request_comparison

COMMAND = str(Path(sys.executable).with_name("hedgerow"))


class App:
    """An app on one port, which can be stopped and started again.

    Attributes:
        address: its address once it is started. The system chooses the port, because another
            process may be starting apps at the same time.
    """

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        """Take a working directory, and additional environment variables."""
        self._home = home
        self._more = dict(environment or {})
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the app, and wait until it answers."""
        own = {
            "HEDGEROW_HOME": str(self._home),
            "HEDGEROW_TRAINING_LOCK": str(self._home / "training.lock"),
        }
        others = {k: v for k, v in os.environ.items() if not k.startswith("HEDGEROW_")}
        self._process = process = subprocess.Popen(
            [COMMAND, "app", "--port", str(self._port)],
            cwd=self._home,
            env=others | own | self._more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if re.search(re.escape(self.address), line):
                break
        else:
            pytest.fail("hedgerow app ended without an address: " + "".join(lines))
        # Nobody reads the rest, and a full pipe would stop the app.
        Thread(target=deque, args=(process.stdout, 0), daemon=True).start()

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop the app and all its child processes, if it is running."""
        if self._process is not None:
            os.killpg(self._process.pid, how)
            self._process.wait(timeout=20)
            self._process = None


@contextmanager
def served(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of an app for a working directory."""
    app = App(home, environment)
    try:
        app.start()
        yield app.address
    finally:
        app.end()


def let_measuring_wait(session: Session) -> None:
    """Store a measuring run that nobody starts.

    Otherwise every edit and every start of an app would start one. Loading the encoder takes
    several times as long as a test, and continues during the next tests.
    """
    create_run(session, kind=measuring.KIND, parameters={})


def let_comparing_wait(session: Session) -> None:
    """The same for Compare, which measures Figure 1 in a project without a trained model."""
    request_comparison(session, models=BUILT_IN, set_name=FIGURE_1_SET)
