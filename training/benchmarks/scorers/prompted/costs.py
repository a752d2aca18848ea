"""The cost of a run's chat models, and the check of its budget before each request."""

import asyncio
import errno
import os
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from curation.generation.budget import Ledger
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import Budget, Price
from db.errors import RunPaused
from db.named_files import find_aside, put_aside

# -- A file that grows line by line and loses no line when the disk is full -----------------------


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


TIME = "time"


@dataclass
class Account:
    """The account of a run, kept in a file, so that a budget holds over all of its attempts.

    Attributes:
        file: one line per attempt: 1 or 0 for whether it was answered, US dollars, 1 or 0 for
            whether its tokens were counted here, and the measurement. The last two are missing in
            older files. A line that begins with `TIME` has seconds instead of dollars.
        price: the price of the current model.
        tokens_in, tokens_out: the tokens of the answers since this account was opened.
        measures: the current measurement: a model in a benchmark.
        spent: US dollars in all attempts, by measurement.
        seconds: the time of earlier attempts that did not finish, by measurement.
    """

    file: Path
    price: Price
    budget: Budget
    tokens_in: int = 0
    tokens_out: int = 0
    measures: str = ""
    spent: dict[str, float] = field(default_factory=dict, init=False)
    seconds: dict[str, float] = field(default_factory=dict, init=False)
    ledger: Ledger = field(init=False)
    lines: Lines = field(init=False)
    _booked: asyncio.Event = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.ledger, self.lines = Ledger(self.budget), Lines(self.file)
        for line in self.lines.read():
            kind, number, is_estimate, measured, *_ = [*line.split("\t"), "", "", ""]
            with suppress(ValueError):  # a line cut off by a crash is skipped
                self._read(kind, float(number), is_estimate == "1", measured)
        self.begin()

    def _read(self, kind: str, number: float, is_estimate: bool, measured: str) -> None:
        kept = self.seconds if kind == TIME else self.spent
        kept[measured] = kept.get(measured, 0.0) + number
        if kind != TIME:
            self.ledger.book(number, answered=kind == "1", is_estimate=is_estimate)

    def begin(self) -> None:
        """Reset the requests in progress, and wait in this event loop."""
        self.ledger.under_way = 0
        self._booked = asyncio.Event()

    async def may_ask(self) -> None:
        """Wait until the budget allows an attempt, and count it as begun.

        Raises:
            RunPaused: it allows none, and no request in progress can change that.
        """
        while not self.ledger.allows():
            if not self.ledger.under_way:
                raise RunPaused(self.ledger.spent())
            await self._booked.wait()
        self.ledger.under_way += 1

    def took(self, seconds: float) -> None:
        """Record the duration of an attempt that ended before everything was answered."""
        self.lines.add(f"{TIME}\t{seconds!r}\t\t{self.measures}")

    def book(self, reply: Reply | None) -> None:
        """Record a finished attempt, with its answer if there is one."""
        spent, read = (reply.prompt_tokens, reply.completion_tokens) if reply else (0, 0)
        self.tokens_in += spent or 0
        self.tokens_out += read or 0
        cost = self.price.cost(spent, read)
        self.ledger.under_way -= 1
        self.ledger.book_reply(cost, reply)
        is_estimate = bool(reply and reply.is_estimate)
        self.spent[self.measures] = self.spent.get(self.measures, 0.0) + cost
        self.lines.add(f"{int(reply is not None)}\t{cost!r}\t{int(is_estimate)}\t{self.measures}")
        self._booked.set()
        self._booked = asyncio.Event()
