"""What the processes of one test run share: made by the first that needs it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder for such things, in that of the test run."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    (folder / "shared").mkdir(exist_ok=True)
    return folder / "shared"


def made_once(folder: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The folder ``name`` with what ``make`` writes into it. Copy it, do not change it."""
    ready, draft = folder / name, folder / f"{name}.draft"
    with FileLock(folder / f"{name}.lock"):
        if not ready.exists():
            shutil.rmtree(draft, ignore_errors=True)  # of a process that failed
            draft.mkdir()
            make(draft)
            draft.rename(ready)
    return ready
