"""What a run can't store where it belongs, kept in another place until the run goes on.

A disk that is full is mostly that of the database and of the data folder; the folder for temporary
files, the home folder or the memory of this machine may have room.
"""

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from db.execution import RunContext

PREFIX = "hedgerow-unstored"
MEMORY = Path("/dev/shm")


def put_aside(context: RunContext, kind: str, content: bytes) -> Path:
    """Write a file where there is room; gives its path.

    Args:
        kind: of the content, a word; a run may put several kinds aside.

    Raises:
        OSError: nowhere is room.
    """
    problem: OSError = OSError("no place to write to")
    for folder in _places(context):
        path = folder / f"{_stem(context, kind)}-{context.run.attempt}.part"
        try:
            _write(path, content)
            return path.rename(path.with_suffix(".jsonl"))
        except OSError as error:
            problem = error
            with suppress(OSError):
                path.unlink(missing_ok=True)
    raise problem


def put_aside_before(context: RunContext, kind: str) -> list[Path]:
    """The files that earlier attempts at this run have put aside."""
    pattern = f"{_stem(context, kind)}-*.jsonl"
    found = []
    for folder in _places(context):
        with suppress(OSError):
            found += [path for path in sorted(folder.glob(pattern)) if _is_ours(path)]
    return found


def _places(context: RunContext) -> list[Path]:
    """Where there may be room, the best first."""
    folders = [context.folder, Path(tempfile.gettempdir()), MEMORY]
    with suppress(RuntimeError):  # a user without a home
        folders.insert(2, Path.home())
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _stem(context: RunContext, kind: str) -> str:
    """The same for every attempt at this run of this project, and for no other run."""
    run = context.run
    whole = f"{context.settings.data_folder.resolve()}\n{run.id}\n{run.created_at.isoformat()}"
    return f"{PREFIX}-{kind}-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def _write(path: Path, content: bytes) -> None:
    """Write a file that only this user can read, whole and on the disk."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _is_ours(path: Path) -> bool:
    """Whether this user wrote it: others may write in the folder for temporary files, too."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid())
