"""A file that grows line by line and loses no line when the disk is full."""

import errno
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from db.rescue_files import find_aside, put_aside


@dataclass
class Lines:
    """The lines of a file. Lines that can't be written are kept in memory.

    Attributes:
        problem: why the last line could not be added; None if it was added.
        waiting: the lines that are not in the file yet.
    """

    file: Path
    problem: OSError | None = None
    waiting: list[str] = field(default_factory=list)

    def read(self) -> list[str]:
        """All lines. Lines that `rescue` saved elsewhere are added to the file first.

        Raises:
            OSError: they can't be added, or the file can't be read.
        """
        for path in find_aside(self.file.parent, self._name):
            self.waiting = path.read_text(encoding="utf-8").splitlines(keepends=True)
            self.add("")
            if self.problem is not None:
                raise self.problem
            path.unlink()
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.is_file() else []

    def add(self, line: str) -> None:
        """Add a line to the file, with all waiting lines."""
        if line:
            self.waiting.append(f"{line}\n")
        try:
            self._write("".join(self.waiting))
            self.waiting, self.problem = [], None
        except OSError as error:
            self.problem = OSError(error.errno, error.strerror, str(self.file))

    def _write(self, text: str) -> None:
        """Write all lines or none. A line that a crash cut off is terminated first."""
        with self.file.open("ab+", buffering=0) as file:
            size, content = file.seek(0, os.SEEK_END), text.encode()
            if size:
                file.seek(-1, os.SEEK_END)
                content = (b"" if file.read(1) == b"\n" else b"\n") + content
            try:
                if file.write(content) != len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))
            except OSError:
                file.truncate(size)
                raise

    def rescue(self) -> Path | None:
        """Save lines that still can't be written to another file; returns its path, or None.

        Raises:
            OSError: no disk has space; the lines are lost.
        """
        if self.waiting:
            self.add("")
        if not self.waiting:
            return None
        path = put_aside(self.file.parent, self._name, "".join(self.waiting).encode())
        self.waiting = []
        return path

    @property
    def _name(self) -> str:
        return f"{self.file.stem}-{sha256(str(self.file.resolve()).encode()).hexdigest()[:16]}"
