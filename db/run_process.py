"""A run's folder, its log file, and the process that executes it."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import update
from sqlmodel import col

from db.columns import now
from db.engine import create_engine, writing
from db.errors import HedgerowError
from db.models import Run, RunState
from db.settings import Settings

logger = logging.getLogger(__name__)


def run_folder(settings: Settings, run: Run) -> Path:
    """The run's folder, created if missing.

    Raises:
        HedgerowError: the data folder cannot be written.
    """
    return make_folder(settings.data_folder / run.folder)


def make_folder(folder: Path) -> Path:
    """The folder, created if missing.

    Raises:
        HedgerowError: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HedgerowError(
            f"The folder {folder} cannot be created ({error.strerror}); free some space or check "
            "its permissions."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HedgerowError(f"The folder {folder} cannot be written; check its permissions.")
    return folder


def log_file(settings: Settings, run: Run) -> Path:
    """The path of the run's log."""
    return settings.data_folder / run.folder / "log.txt"


def last_log_lines(settings: Settings, run: Run, *, count: int = 15) -> list[str]:
    """The last lines of the run's log, at most ``count``; empty without a log."""
    path = log_file(settings, run)
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 400 * count))
        text = file.read().decode("utf-8", errors="replace")
    return text.replace("\r", "\n").splitlines()[-count:]


def start_process(
    settings: Settings, run: Run, environment: Mapping[str, str] | None = None
) -> None:
    """Start ``hedgerow run ID`` detached: closing the browser or the app does not end it.

    Args:
        environment: additional environment variables for the process, such as a key that must not
            be stored.
    """
    run_folder(settings, run)
    command = [str(Path(sys.executable).with_name("hedgerow")), "run", str(run.id)]
    try:
        with log_file(settings, run).open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=settings.home,
                env=settings.process_environment() | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
    except OSError as error:
        raise HedgerowError(
            f"Run {run.id} cannot be started: {error.strerror or error}"
            f"{f' ({error.filename})' if error.filename else ''}."
        ) from error
    # The exit status must be collected, or the ended process stays in the process table.
    threading.Thread(
        target=_wait, args=(settings, run.id, run.attempt, process), daemon=True
    ).start()


def _wait(
    settings: Settings, run_id: int, attempt: int, process: "subprocess.Popen[bytes]"
) -> None:
    """Wait for a run's process, and mark a run that it never claimed as failed.

    A run that was claimed, paused and queued again waits for another process.
    """
    code = process.wait()
    if code == 0:
        return
    engine = create_engine(settings.url, create=False)
    try:
        with writing(engine) as session:
            session.execute(
                update(Run)
                .where(
                    col(Run.id) == run_id,
                    col(Run.attempt) == attempt,
                    col(Run.state) == RunState.QUEUED,
                )
                .values(
                    state=RunState.FAILED,
                    finished_at=now(),
                    message=f"The process ended at once (exit code {code}); see the log for the "
                    "reason.",
                )
            )
    except HedgerowError as error:  # the database is unreachable; the run stays queued
        logger.warning("run %s: %s", run_id, error)
    finally:
        engine.dispose()
