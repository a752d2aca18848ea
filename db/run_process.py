"""The process that executes a run."""

import logging
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
from db.run_folders import log_file, run_folder
from db.settings import Settings

logger = logging.getLogger(__name__)


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
