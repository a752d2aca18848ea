"""A run's folder and log file."""

import os
from pathlib import Path

from db.errors import HedgerowError
from db.models import Run
from db.settings import Settings


def run_folder(settings: Settings, run: Run) -> Path:
    """The run's folder, made if it is not there.

    Raises:
        HedgerowError: the data folder cannot be written.
    """
    return make_folder(settings.data_folder / run.folder)


def make_folder(folder: Path) -> Path:
    """The folder, made if it is not there.

    Raises:
        HedgerowError: it cannot be made, or cannot be written.
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
    """Where the run's process writes its log."""
    return settings.data_folder / run.folder / "log.txt"


def last_log_lines(settings: Settings, run: Run, *, count: int = 15) -> list[str]:
    """The last lines of the run's log, at most ``count``; none before it has written any."""
    path = log_file(settings, run)
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 400 * count))
        text = file.read().decode("utf-8", errors="replace")
    return text.replace("\r", "\n").splitlines()[-count:]
