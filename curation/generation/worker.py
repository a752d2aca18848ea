"""Carries out a generation run: many concurrent calls, each answer stored on arrival.

There is one task per concurrent call; each makes one call after another. A single writer stores the
answers (``unstored_answers``): those that arrive during a transaction are stored together in the
next one.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from curation.formatting import counted
from curation.generation.budget import Ledger
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.providers.chat.retries import Asker
from curation.generation.request import ModelRequest
from curation.generation.storing import Attempt, Origin, cost_of, store_attempts
from curation.generation.unstored_answers import STORE_AGAIN_SECONDS, Keeper, pause, recover
from curation.taxonomy.project_types import types_in_use
from db.engine import reading, writing
from db.errors import HedgerowError, RunPaused
from db.execution import RunContext
from db.models import CallState

CHECK_SECONDS = 0.2
"""Seconds between checks of whether the run should stop."""

DRAIN_SECONDS = 15.0
"""Maximum seconds that a stopping run waits for answers in progress."""

WAITING = 4
"""Maximum answers that wait to be stored before calls stop, as a multiple of concurrent calls."""

HELD = 200
"""Calls read from the database at a time."""


@dataclass
class Worker:
    """The state of a run that is being carried out in this process."""

    context: RunContext
    request: ModelRequest
    asker: Asker
    ledger: Ledger
    total: int = 0
    done: int = 0
    failed: int = 0
    at_once: int = 0
    _held: deque[Call] = field(default_factory=deque)
    _last: int | None = 0  # id of the last call read; None if there are no more
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _keeper: Keeper = field(init=False)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _booked: asyncio.Event = field(default_factory=asyncio.Event)
    _why: Exception | None = None

    def __post_init__(self) -> None:
        self._keeper = Keeper(
            self.context,
            self._store,
            self._stored_some,
            self._halt,
            self._stop,
            most=WAITING * self.request.concurrency,
        )

    async def run(self) -> None:
        """Make all open calls.

        Raises:
            RunCancelled: the run was cancelled.
            RunPaused: the run was paused, or the budget is spent.
            HedgerowError: no call can succeed, or answers could not be stored.
        """
        for attempt in await asyncio.to_thread(recover, self.context, self._store):
            self._book(attempt)
        with reading(self.context.engine) as session:
            counts = count_calls(session, self.context.run.id)
        self.total = sum(counts.values())
        self.done, self.failed = counts[CallState.DONE], counts[CallState.FAILED]
        self._report()
        writer = asyncio.create_task(self._keeper.run())
        watcher = asyncio.create_task(self._watch())
        try:
            self.at_once = min(self.request.concurrency, counts[CallState.OPEN])
            await self._make_calls(self.at_once)
        finally:
            watcher.cancel()
            self._keeper.end()
            await self.asker.model.close()
            await writer
        if self._why is not None:
            raise self._why

    # -- making calls ---------------------------------------------------------------------

    async def _make_calls(self, at_once: int) -> None:
        """Make all calls; a stopping run waits a limited time for calls in progress."""
        if not at_once:
            return
        tasks = [asyncio.create_task(self._work()) for _ in range(at_once)]
        ended = asyncio.create_task(asyncio.wait(tasks))
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        # Answers that the database can't store are saved elsewhere, since they are paid for.
        kept = self.request.timeout if self._keeper.is_shut else DRAIN_SECONDS
        await asyncio.wait({ended}, timeout=kept)
        for task in tasks:
            task.cancel()
        await ended

    async def _work(self) -> None:
        """Make one call after another."""
        try:
            while call := await self._next():
                await self._make(call)
        except Exception as error:  # an error that repeating can't fix ends the run
            self._halt(error)

    async def _next(self) -> Call | None:
        """The next call to make; None if there is none or the run should stop."""
        async with self._reading:
            if not self._held and self._last is not None and not self._stop.is_set():
                self._held.extend(await self._read_on(self._last))
                self._last = self._held[-1].id if self._held else None
            return self._held.popleft() if self._held and not self._stop.is_set() else None

    async def _read_on(self, after: int) -> Sequence[Call]:
        """Read the next calls; retry for a while if the database is unreachable."""
        for wait in STORE_AGAIN_SECONDS:
            try:
                return await asyncio.to_thread(self._read, after)
            except HedgerowError:
                await pause(wait, self._stop)
        return await asyncio.to_thread(self._read, after)

    def _read(self, after: int) -> Sequence[Call]:
        with reading(self.context.engine) as session:
            self.asker.keep_only(types_in_use(session))
            return open_calls(session, self.context.run.id, after=after, limit=HELD)

    async def _make(self, call: Call) -> None:
        """Make a call until it is done, has finally failed, or the run should stop."""
        number, answers = call.attempts, self.asker.gate.answers
        if not self.asker.asked_types(call):  # all of them are retired
            return
        while await self._may_ask():
            number += 1
            try:
                attempt, wait = await self.asker.attempt(call, number, answers=answers)
            finally:
                self.ledger.under_way -= 1
            self._keeper.take(attempt)
            self._book(attempt)
            gate, attempts = self.asker.gate, self.request.attempts
            if why := gate.why_pause(at_once=self.at_once, attempts=attempts):
                self._halt(RunPaused(why))
            if attempt.state is not CallState.OPEN:
                return
            await pause(wait, self._stop)

    async def _may_ask(self) -> bool:
        """Wait until the server and the budget allow an attempt, and count it as begun.

        Returns:
            False if the run should stop instead.
        """
        while not self._stop.is_set():
            if (closed_for := self.asker.gate.left()) > 0:
                await pause(closed_for, self._stop)
            elif not self._keeper.has_space:
                await self._booked.wait()
            elif self.ledger.allows():
                self.ledger.under_way += 1
                return True
            elif self.ledger.under_way:
                await self._booked.wait()
            else:
                self._halt(RunPaused(self.ledger.spent()))
        return False

    def _book(self, attempt: Attempt) -> None:
        self.ledger.book_reply(cost_of(attempt, self.request.charged), attempt.reply)
        self._wake()

    def _wake(self) -> None:
        """Make tasks that wait for the budget check it again."""
        self._booked.set()
        self._booked = asyncio.Event()

    # -- stopping -------------------------------------------------------------------------

    def _halt(self, why: Exception) -> None:
        if self._why is None:
            self._why = why
        self._stop.set()
        self._wake()

    async def _watch(self) -> None:
        """Check regularly whether the run should stop."""
        while True:
            try:
                self.context.check()
            except Exception as error:  # cancelled, paused or interrupted
                self._halt(error)
                return
            await asyncio.sleep(CHECK_SECONDS)

    # -- storing --------------------------------------------------------------------------

    def _stored_some(self, stored: list[Attempt]) -> None:
        """Count stored attempts, and let tasks that waited for storage continue."""
        self.done += sum(attempt.state is CallState.DONE for attempt in stored)
        self.failed += sum(attempt.state is CallState.FAILED for attempt in stored)
        self._report()
        self._wake()

    def _store(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        if not attempts:
            return []
        origin = Origin(self.request.provider, self.request.model)
        with writing(self.context.engine) as session:
            return store_attempts(session, attempts, origin=origin, price=self.request.charged)

    def _report(self) -> None:
        failed = f", {self.failed:,} failed" if self.failed else ""
        money = f", {self.ledger.cost()}" if self.ledger.money else ""
        message = f"{counted(self.done, 'answer')} stored{failed}{money}.{self.asker.gate.waits()}"
        self.context.progress(self.done + self.failed, self.total, message)
