"""Processes that execute runs and start immediately: forks of one that has imported everything.

For tests that kill them. A fork does the same as ``hedgerow run ID``, except for measuring variants
after a generation. Forks in a group are the processes of one training run.
"""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg as psycopg  # imported before the fork, like everything that a run needs
from pydantic import SecretStr
from sqlalchemy.engine import URL

from curation.diagnostics import measuring
from curation.generation import run as generation
from curation.generation.providers.chat.client import ChatModel
from db.engine import create_engine
from db.execution import RunContext, Work, execute
from db.settings import load_settings
from tests.support.checkout import ROOT
from training.recipe import training_data


class Forker:
    """The process that is forked."""

    def __init__(self, *modules: str) -> None:
        """Take the modules to import before the forks, in addition to those for a generation."""
        command = [sys.executable, "-m", "tests.support.forking", *modules]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(
        self,
        url: URL,
        home: Path,
        run_id: int,
        constants: dict[str, Any],
        environment: dict[str, str] | None = None,
        call: str = "tests.support.forking:carry_out",
    ) -> int:
        """Execute a run in a new process. Returns its number.

        Args:
            constants: values of the program's constants in the new process, by module and name.
            environment: additional environment variables of the process.
            call: the function that executes the run, called with its number.
        """
        order = {
            "run": run_id,
            "constants": constants,
            "call": call,
            "environment": dict(environment or {})
            | {
                "HEDGEROW_TRAINING_LOCK": os.environ["HEDGEROW_TRAINING_LOCK"],
                "HEDGEROW_DATABASE_URL": url.render_as_string(hide_password=False),
                "HEDGEROW_HOME": str(home),
            },
        }
        assert self._process.stdin and self._process.stdout
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.wait()


def is_alive(pid: int) -> bool:
    """Whether the process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kill(pid: int) -> None:
    """Kill a process at once, and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while is_alive(pid):
        assert time.monotonic() < until, f"process {pid} is there still"
        time.sleep(0.005)


def carry_out(run_id: int) -> None:
    """Execute a generation or a training run."""
    measuring.work = lambda context: {}  # type: ignore[assignment]
    settings = load_settings()
    work: dict[str, Work] = {generation.KIND: generation.work, training_data.KIND: train}
    execute(create_engine(settings.url), settings, run_id, work)


def train(context: RunContext) -> dict[str, Any]:
    """The work of a training run, imported only when it is needed."""
    from training.encoder_run.training_run import work

    return work(context)


def _obey(order: dict[str, Any]) -> None:
    os.environ.update(order["environment"])
    for path, value in order["constants"].items():
        module, _, name = path.rpartition(".")
        setattr(import_module(module), name, value)
    module, _, name = order["call"].partition(":")
    getattr(import_module(module), name)(order["run"])


def main() -> None:
    """Fork for each incoming order, until there are no more."""
    ChatModel("any", SecretStr("")).client()  # imports late imports now
    for name in sys.argv[1:]:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # remove ended processes
    for line in sys.stdin:
        order = json.loads(line)
        if pid := os.fork():
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
            continue
        home = order["environment"]["HEDGEROW_HOME"]
        log = os.open(Path(home) / "out.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            _obey(order)
        except Exception as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)


if __name__ == "__main__":
    main()
