"""Carrying out a generation run: many calls at once, each answer stored when it arrives.

As many tasks as calls may be under way, each making one call after the other; one writer, so that
the database sees one transaction at a time. Answers that arrive while a transaction is being
written go into the next one together.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from curation.generation.asking import Asker
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.ledger import Ledger
from curation.generation.request import ModelRequest
from curation.generation.storing import Attempt, Origin, cost_of, store_attempts
from curation.types import types_in_use
from db.engine import reading, writing
from db.errors import HedgerowError, RunPaused
from db.execution import RunContext
from db.models import CallState

LOOK_SECONDS = 0.2
"""How often the run looks whether it shall stop."""

DRAIN_SECONDS = 15.0
"""How long a run that shall stop waits for the answers under way."""

STORE_AGAIN_SECONDS = (1.0, 5.0)
"""Waits before a database that is busy or away is tried again; what arrived has been paid for."""

GATHER_SECONDS = 0.1
"""How long answers wait, at most, to be stored in one transaction with others: half the work."""

WAITING = 4
"""Answers that may wait to be stored, in multiples of the calls at once; then nobody asks on."""

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
    _last: int | None = 0  # id of the last call that was read; None where there are no more
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _results: asyncio.Queue[Attempt | None] = field(init=False)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _booked: asyncio.Event = field(default_factory=asyncio.Event)
    _why: Exception | None = None

    def __post_init__(self) -> None:
        # While the database is busy, what was answered meanwhile is not stored: that may not be
        # more and more.
        self._results = asyncio.Queue(WAITING * self.request.concurrency)

    async def run(self) -> None:
        """Make all calls that are open.

        Raises:
            RunCancelled, RunPaused: somebody asked for it, or the budget is spent.
            HedgerowError: no call can succeed.
        """
        counts = await asyncio.to_thread(self._counts)
        self.total = sum(counts.values())
        self.done, self.failed = counts[CallState.DONE], counts[CallState.FAILED]
        self._report()
        writer = asyncio.create_task(self._write())
        watcher = asyncio.create_task(self._watch())
        try:
            self.at_once = min(self.request.concurrency, counts[CallState.OPEN])
            await self._make_calls(self.at_once)
        finally:
            watcher.cancel()
            await self._results.put(None)
            await writer
            await self.asker.model.close()
        if self._why is not None:
            raise self._why

    def _counts(self) -> dict[CallState, int]:
        with reading(self.context.engine) as session:
            return count_calls(session, self.context.run.id or 0)

    # -- making calls ---------------------------------------------------------------------

    async def _make_calls(self, at_once: int) -> None:
        """Until all are made; a run that shall stop waits only so long for those under way."""
        if not at_once:
            return
        tasks = [asyncio.create_task(self._work()) for _ in range(at_once)]
        ended = asyncio.create_task(asyncio.wait(tasks))
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        await asyncio.wait({ended}, timeout=DRAIN_SECONDS)
        for task in tasks:
            task.cancel()
        await ended

    async def _work(self) -> None:
        """Make one call after the other."""
        try:
            while call := await self._next():
                await self._make(call)
        except Exception as error:  # what cannot be mended by asking again ends the run
            self._halt(error)

    async def _next(self) -> Call | None:
        """The next call to make; None where there is none, or the run shall stop."""
        async with self._reading:
            if not self._held and self._last is not None and not self._stop.is_set():
                self._held.extend(await asyncio.to_thread(self._read, self._last))
                self._last = self._held[-1].id if self._held else None
            return self._held.popleft() if self._held and not self._stop.is_set() else None

    def _read(self, after: int) -> Sequence[Call]:
        with reading(self.context.engine) as session:
            self.asker.keep_only(types_in_use(session))
            return open_calls(session, self.context.run.id or 0, after=after, limit=HELD)

    async def _make(self, call: Call) -> None:
        """Make a call until it is done, has failed for good, or the run shall stop."""
        number, answers = call.attempts, self.asker.gate.answers
        if not self.asker.asked_types(call):  # retired, all of them
            return
        while await self._may_ask():
            number += 1
            try:
                attempt, wait = await self.asker.attempt(call, number, answers=answers)
            finally:
                self.ledger.under_way -= 1
            self._book(attempt)
            await self._results.put(attempt)
            self._look_at_the_server()
            if attempt.state is not CallState.OPEN:
                return
            await self._pause(wait)

    async def _may_ask(self) -> bool:
        """Wait until the server and the budget allow an attempt, and count it as begun.

        Returns:
            False where the run shall stop instead.
        """
        while not self._stop.is_set():
            if (closed_for := self.asker.gate.left()) > 0:
                await self._pause(closed_for)
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
        """Let those that wait for the budget look at it again."""
        self._booked.set()
        self._booked = asyncio.Event()

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake when the run shall stop."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self._stop.wait(), timeout=seconds)
            except TimeoutError:
                return

    # -- stopping -------------------------------------------------------------------------

    def _look_at_the_server(self) -> None:
        why = self.asker.gate.why_pause(at_once=self.at_once, attempts=self.request.attempts)
        if why:
            self._halt(RunPaused(why))

    def _halt(self, why: Exception) -> None:
        if self._why is None:
            self._why = why
        self._stop.set()
        self._wake()

    async def _watch(self) -> None:
        """Look whether somebody asked for the run to stop."""
        while True:
            try:
                self.context.check()
            except Exception as error:  # cancelled, paused or interrupted
                self._halt(error)
                return
            await asyncio.sleep(LOOK_SECONDS)

    # -- storing --------------------------------------------------------------------------

    async def _write(self) -> None:
        """Store attempts as they arrive, all that have arrived in one transaction."""
        ended = broken = False
        while not ended:
            arrived = [await self._results.get()]
            while not self._results.empty():
                arrived.append(self._results.get_nowait())
            ended = None in arrived
            if broken:
                continue
            try:
                stored = await self._keep([attempt for attempt in arrived if attempt is not None])
            except Exception as error:  # what cannot be stored must not be asked for
                self._halt(error)
                broken = True
                continue
            self.done += sum(attempt.state is CallState.DONE for attempt in stored)
            self.failed += sum(attempt.state is CallState.FAILED for attempt in stored)
            self._report()
            if not ended:
                await asyncio.sleep(GATHER_SECONDS)

    async def _keep(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        """Store attempts; while the database is away, nobody asks."""
        for wait in STORE_AGAIN_SECONDS:
            try:
                return await asyncio.to_thread(self._store, attempts)
            except HedgerowError:
                self.asker.gate.close_for(wait)
                await asyncio.sleep(wait)
        return await asyncio.to_thread(self._store, attempts)

    def _store(self, attempts: Sequence[Attempt]) -> list[Attempt]:
        if not attempts:
            return []
        origin = Origin(self.request.provider, self.request.model)
        with writing(self.context.engine) as session:
            return store_attempts(session, attempts, origin=origin, price=self.request.charged)

    def _report(self) -> None:
        failed = f", {self.failed:,} failed" if self.failed else ""
        money = f", {self.ledger.cost()}" if self.ledger.money else ""
        said = f"{self.done:,} answers stored{failed}{money}.{self.asker.gate.waits()}"
        self.context.progress(self.done + self.failed, self.total, said)
