"""Drafts: what is written next to its place until it is whole, and what a killed process left.

A draft's name says which process writes it, so that the next one to write to the same place can
remove what nobody goes on with, and nothing else.
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
"""Endings of what is being written, and of what it replaces until it is in its place."""


def new_partial(target: Path) -> Path:
    """A name of its own for this process's draft of the target, in the same folder."""
    own = f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    return target.with_name(f".{target.name}.{own}{PART}")


def clear_partials(target: Path) -> None:
    """Remove the target's drafts whose process on this host is gone.

    If that process ended between taking the old target away and putting the new one there, the old
    one comes back.
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
    """This host, in a few characters that any file system takes."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]
