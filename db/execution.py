"""Execute a stored run in this process: heartbeat, progress, cancellation and result."""

import logging
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import Engine, select, update
from sqlmodel import col

from db.columns import db_now
from db.engine import patient, reading, writing
from db.errors import HedgerowError, RunCancelled, RunEnded, RunPaused
from db.models import Run, RunMetric, RunState
from db.run_process import log_file, run_folder
from db.runs import LEASE, claim, get_run
from db.settings import Settings

HEARTBEAT_SECONDS = 1.0
"""How often progress is written and cancellation is checked."""

DONE = "Done."
BUSY = "Waiting: another process is writing to the database."
"""The message of a complete run."""

WAITING = "Waiting for other work on this machine to finish."
"""The message of a run that waits for others, or a part of that message."""

logger = logging.getLogger(__name__)

Result = dict[str, Any]
Work = Callable[["RunContext"], Result]


class RunContext:
    """The context of a run's work: its parameters, its folder, and reporting.

    Reports are kept in memory and written by the heartbeat, so that work never waits for the
    database. ``check`` raises ``RunCancelled`` after a request to stop this run or the outer run
    (``within``).
    """

    listener: Callable[[int, int, str], None] | None = None
    """Also called with each progress report."""

    def __init__(
        self, engine: Engine, settings: Settings, run: Run, within: "RunContext | None" = None
    ) -> None:
        self.engine = engine
        self.within = within
        self.settings = settings
        self.run = run
        self.parameters: dict[str, Any] = dict(run.parameters)
        self.folder: Path = run_folder(settings, run)
        self.stop = threading.Event()
        self.stop_reason = RunState.CANCELLED
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._finished = False
        self._progress: dict[str, Any] = {}
        self._metrics: dict[tuple[str, int], float] = {}

    def update(self, step: int, total: int, message: str) -> None:
        """Report that ``step`` of ``total`` steps are done, with a message; stop if requested."""
        self.check()
        self.progress(step, total, message)

    def progress(self, step: int, total: int, message: str) -> None:
        """Like ``update``, but without stopping: for work that must not be interrupted here."""
        with self._lock:
            self._progress = {"step": step, "total": total, "message": message}
        if self.listener is not None:
            self.listener(step, total, message)

    def metric(self, step: int, name: str, value: float) -> None:
        """Report a metric. If it is reported twice for a step, the later value counts."""
        with self._lock:
            self._metrics[(name, step)] = float(value)

    def wait_for_others(self) -> None:
        """Wait for a moment because the database is busy, and say so; stop if requested."""
        self.check()
        with self._lock:
            self._progress = self._progress | {"message": BUSY}
        logger.warning("%s", BUSY)
        self.stop.wait(random.uniform(0.5, 2))  # so that several waiting runs don't meet again

    def check(self) -> None:
        """Raise ``RunCancelled`` if the run should stop."""
        outer = self.within
        if outer is not None and outer.stop.is_set() and not self.stop.is_set():
            self.interrupt(outer.stop_reason)
        if self.stop.is_set():
            raise RunCancelled(self.stop_reason)

    def interrupt(self, reason: RunState) -> None:
        """Make the run stop at its next ``check`` and end in this state."""
        self.stop_reason = reason
        self.stop.set()

    def beat(self) -> None:
        """Write the reports, renew the lease, and check for a request to stop."""
        with self._writing:
            if not self._finished:
                self._write_reports()

    def _write_reports(self) -> None:
        with self._lock:
            progress, self._progress = self._progress, {}
            figures, self._metrics = self._metrics, {}
        try:
            row = self._stored(progress, figures)
        except HedgerowError:
            with self._lock:  # keep them for the next heartbeat, with newer reports
                self._progress = progress | self._progress
                self._metrics = figures | self._metrics
            raise
        if row is None:  # another process has claimed the run: do not interfere
            self.stop_reason = RunState.INTERRUPTED
        elif row[1] and not row[0]:
            self.stop_reason = RunState.PAUSED
        if row is None or row[0] or row[1]:
            self.stop.set()

    def _stored(
        self, progress: dict[str, Any], figures: dict[tuple[str, int], float]
    ) -> tuple[bool, bool] | None:
        """Write the reports.

        Returns:
            Whether somebody requested a cancellation, and a pause; None if another process has
            claimed the run.
        """
        mine = (col(Run.id) == self.run.id, col(Run.attempt) == self.run.attempt)
        asked = select(col(Run.cancel_requested), col(Run.pause_requested)).where(*mine)
        with writing(self.engine) as session:
            if (row := session.execute(asked).first()) is None:
                return None
            moment = session.execute(select(db_now())).scalar_one()
            values = {"heartbeat_at": moment, "lease_until": moment + LEASE} | progress
            session.execute(update(Run).where(*mine).values(**values))
            for (name, step), value in figures.items():
                session.merge(RunMetric(run_id=self.run.id, name=name, step=step, value=value))
        return row[0], row[1]

    def finish(self, state: RunState, message: str, result: Result | None = None) -> None:
        """Write the end of the run. Later reports are ignored."""
        self.beat()
        with self._writing, writing(self.engine) as session:
            self._finished = True
            moment = session.execute(select(db_now())).scalar_one()
            session.execute(
                update(Run)
                .where(col(Run.id) == self.run.id, col(Run.attempt) == self.run.attempt)
                .values(
                    state=state,
                    message=message,
                    result=result or {},
                    finished_at=moment,
                    heartbeat_at=moment,
                )
            )


def execute(
    engine: Engine,
    settings: Settings,
    run_id: int,
    work: Mapping[str, Work],
    within: RunContext | None = None,
) -> Result:
    """Claim the run, do its work, and store how it ended.

    Args:
        work: the function for each kind of run.
        within: the outer run, if this run is part of another one; stopping that one stops this one.

    Returns:
        The stored result.

    Raises:
        HedgerowError: the run cannot be claimed.
        RunEnded: the run was paused, cancelled or interrupted, or failed, as its row says.
    """
    with reading(engine) as session:
        asked = get_run(session, run_id)
    run_folder(settings, asked)  # fails before the claim if nothing can be written
    with _log_to(log_file(settings, asked)):
        run = claim(engine, run_id, host=socket.gethostname(), pid=os.getpid())
        return _carry_out(RunContext(engine, settings, run, within), work)


def _carry_out(context: RunContext, work: Mapping[str, Work]) -> Result:
    run = context.run
    with _heartbeat(context), _signals(context), patient(context.wait_for_others):
        try:
            if run.kind not in work:
                raise HedgerowError(
                    f"This version of Hedgerow does not know runs of the kind '{run.kind}'."
                )
            logger.info("run %s, attempt %s", run.id, run.attempt)
            result = work[run.kind](context)
            is_whole = result.get("complete", True)
            context.finish(RunState.DONE, DONE if is_whole else "Done, but incomplete.", result)
            logger.info("run %s is done", run.id)
            return result
        except RunPaused as stopped:
            logger.info("%s", stopped)
            sentence = f"{stopped} {_how_to_resume(run)}"
            raise _ended(context, RunState.PAUSED, str(stopped), sentence) from stopped
        except RunCancelled as stopped:
            state = context.stop_reason
            logger.info("run %s is %s", run.id, state)
            sentence = f"Run {run.id} was {state}. {_how_to_resume(run)}"
            raise _ended(context, state, f"{state.capitalize()}.", sentence) from stopped
        except HedgerowError as error:
            logger.error("%s", error)
            raise _ended(context, RunState.FAILED, str(error), str(error)) from error
        except Exception as error:
            logger.exception("run %s failed", run.id)
            message = _sentence(error)
            sentence = f"Run {run.id} failed: {message}"
            raise _ended(context, RunState.FAILED, message, sentence) from error


def _ended(context: RunContext, state: RunState, message: str, sentence: str) -> RunEnded:
    """Store how the run ended, and return the exception to raise.

    If that can't be stored, the lease expires, and the run counts as interrupted.
    """
    try:
        context.finish(state, message)
    except HedgerowError as error:
        logger.error("how run %s ended is not stored: %s", context.run.id, error)
    ended = RunEnded(sentence, run=context.run.id, state=state.value, message=message)
    if state is RunState.FAILED:
        ended.facts["error"] = sentence
    return ended


def _how_to_resume(run: Run) -> str:
    return f"Run 'hedgerow run {run.id}' to resume it."


def _sentence(error: Exception) -> str:
    """The error in one line, without the exception's name if it is a disk error."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}."
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


@contextmanager
def _heartbeat(context: RunContext) -> Iterator[None]:
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            try:
                context.beat()
            except HedgerowError as error:  # for example a busy database; the lease is longer
                logger.warning("heartbeat: %s", error)

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _signals(context: RunContext) -> Iterator[None]:
    """Make SIGTERM and SIGINT stop the run and its outer runs in an orderly way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        current: RunContext | None = context
        while current is not None:
            current.interrupt(RunState.INTERRUPTED)
            current = current.within

    old = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


class _Log(logging.FileHandler):
    """A run's log. On a full disk, lines are lost without an error on the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error; the line is lost."""


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    handler = _Log(path, encoding="utf-8")
    formatter = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()
