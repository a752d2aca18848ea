"""A run's folder and log file."""

import os
from pathlib import Path

from db.errors import HedgerowError
from db.models import Run
from db.settings import Settings


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
