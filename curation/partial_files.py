"""Temporary files and folders that are written next to their target, and cleaning up after crashes.

The name of a temporary file contains the id of the process that writes it. The next process that
writes the same target can therefore remove abandoned files, and only those.
"""

import glob
import hashlib
import os
import re
import shutil
import socket
import uuid
from pathlib import Path

from db.runs import has_ended

PART, OLD = ".part", ".old"
"""Suffixes of files being written, and of the files that they replace in the meantime."""


def new_partial(target: Path) -> Path:
    """Return a unique name for this process's temporary file, in the target's folder."""
    own = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    return target.with_name(f".{target.name}.{own}{PART}")


def clear_partials(target: Path) -> None:
    """Remove the target's temporary files whose process on this host has ended.

    If that process ended between moving the old target away and moving the new one into place, the
    old one is restored.
    """
    own = re.compile(rf"\.{re.escape(target.name)}\.{_host()}-(\d+)-[0-9a-f]{{8}}(\.part|\.old)")
    for path in sorted(target.parent.glob(f".{glob.escape(target.name)}.*")):
        found = own.fullmatch(path.name)
        if found is None or not has_ended(socket.gethostname(), int(found[1])):
            continue
        if found[2] == OLD and not target.exists():
            path.rename(target)
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _host() -> str:
    """Return a short name for this host that any file system accepts."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]
