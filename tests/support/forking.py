"""Processes that carry out runs and start at once: each is a fork of one that has imported all.

For tests that kill them. What a fork does is what ``hedgerow run ID`` does, but for the measuring
of variants that follows a generation; a fork in a group is one process of a training on several.
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

import psycopg as psycopg  # imported before the fork, as all that a run needs
from pydantic import SecretStr
from sqlalchemy.engine import URL

from curation.diagnostics import measuring
from curation.generation import run as generation
from curation.generation.providers.chat.client import ChatModel
from db.engine import create_engine
from db.execution import RunContext, Work, execute
from db.settings import load_settings
from tests.support.checkout import ROOT
from training.recipe import plan


class Forker:
    """The process that is forked."""

    def __init__(self, *modules: str) -> None:
        """Take what is imported before the forks, beside what a generation needs."""
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
        """Carry out a run in a new process; gives its number.

        Args:
            constants: values of the program's constants there, by module and name.
            environment: of that process, beside its own.
            call: the function that does it, handed the run's number.
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
        """End it."""
        self._process.kill()
        self._process.wait()


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
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
    """Carry out a generation or a training."""
    measuring.work = lambda context: {}  # type: ignore[assignment]
    settings = load_settings()
    work: dict[str, Work] = {generation.KIND: generation.work, plan.KIND: train}
    execute(create_engine(settings.url), settings, run_id, work)


def train(context: RunContext) -> dict[str, Any]:
    """The work of a training, which is imported only where it is asked for."""
    from training.runs.trainings import work

    return work(context)


def _obey(order: dict[str, Any]) -> None:
    os.environ.update(order["environment"])
    for path, value in order["constants"].items():
        module, _, name = path.rpartition(".")
        setattr(import_module(module), name, value)
    module, _, name = order["call"].partition(":")
    getattr(import_module(module), name)(order["run"])


def main() -> None:
    """Fork for each order that arrives, until there are no more."""
    ChatModel("any", SecretStr("")).client()  # imports what is imported late
    for name in sys.argv[1:]:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who has ended is gone
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
