"""The cost of a run's chat models, and the check of its budget before each request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from curation.generation.ledger import Ledger
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import Budget, Price
from db.errors import RunPaused
from training.benchmarks.scorers.prompted.growing_file import Lines

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
