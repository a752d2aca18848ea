"""Carrying out a generation run: many calls at once, each answer stored when it arrives.

One task a call under way; one writer, so that the database sees one transaction at a time. Answers
that arrive while a transaction is being written go into the next one together.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Engine, func, select
from sqlmodel import col

from curation.generation.asking import Asker
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.request import Budget, GenerationRequest
from curation.generation.storing import Attempt, Origin, store_attempts
from db.engine import reading, writing
from db.errors import HedgerowError, RunPaused
from db.execution import RunContext
from db.models import Answer, CallState

LOOK_SECONDS = 0.2
"""How often the run looks whether it shall stop."""

DRAIN_SECONDS = 15.0
"""How long a run that shall stop waits for the answers under way."""

DOWN_AFTER = 10
"""Calls in a row that a server fails (at least; and as many as go out at once) before the run
pauses instead of failing all the others, too."""


@dataclass
class Ledger:
    """What a run has spent, before and since it was resumed, against its budget.

    Attributes:
        expected: US dollars for one call, the mean so far; 0 before the first answer.
    """

    budget: Budget
    calls: int = 0
    money: float = 0.0
    under_way: int = 0

    @property
    def expected(self) -> float:
        return self.money / self.calls if self.calls else 0.0

    def allows(self) -> bool:
        """Whether one more call stays within the budget, those under way counted as made."""
        if self.budget.calls is not None and self.calls + self.under_way >= self.budget.calls:
            return False
        if self.budget.money is None:
            return True
        if not self.calls:  # nothing is known of the price of a call: ask for one, and look
            return self.under_way == 0
        return self.money + (self.under_way + 1) * self.expected <= self.budget.money

    def book(self, cost: float) -> None:
        """Book an attempt that has ended."""
        self.calls += 1
        self.money += cost


def read_ledger(engine: Engine, run_id: int, budget: Budget) -> Ledger:
    """The ledger of a run as its stored answers give it."""
    with reading(engine) as session:
        calls, money = session.execute(
            select(func.count(), func.coalesce(func.sum(col(Answer.cost)), 0.0)).where(
                col(Answer.run_id) == run_id
            )
        ).one()
    return Ledger(budget, calls=calls, money=float(money))


@dataclass
class Worker:
    """The state of a run that is being carried out in this process."""

    context: RunContext
    request: GenerationRequest
    asker: Asker
    ledger: Ledger
    total: int = 0
    done: int = 0
    failed: int = 0
    _results: asyncio.Queue[Attempt | None] = field(default_factory=asyncio.Queue)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _why: Exception | None = None
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Make all calls that are open.

        Raises:
            RunCancelled, RunPaused: somebody asked for it, or the budget is spent.
            HedgerowError: no call can succeed.
        """
        counts = await asyncio.to_thread(self._counts)
        self.total = sum(counts.values())
        self.done, self.failed = counts[CallState.DONE], counts[CallState.FAILED]
        writer = asyncio.create_task(self._write())
        watcher = asyncio.create_task(self._watch())
        try:
            await self._make_calls()
        finally:
            await self._results.put(None)
            watcher.cancel()
            await writer
            await self.asker.model.close()
        if self._why is not None:
            raise self._why

    def _counts(self) -> dict[CallState, int]:
        with reading(self.context.engine) as session:
            return count_calls(session, self.context.run.id or 0)

    async def _make_calls(self) -> None:
        under_way: set[asyncio.Task[None]] = set()
        async for call in self._open_calls():
            while len(under_way) >= self.request.concurrency and not self._stop.is_set():
                await self._wait(under_way)
            await self._until_affordable(under_way)
            if self._stop.is_set():
                break
            self.ledger.under_way += 1
            task = asyncio.create_task(self._make(call))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await self._drain(under_way)

    async def _open_calls(self) -> AsyncIterator[Call]:
        after = 0
        while block := await asyncio.to_thread(self._block, after):
            for call in block:
                yield call
            after = block[-1].id

    def _block(self, after: int) -> Sequence[Call]:
        with reading(self.context.engine) as session:
            return open_calls(session, self.context.run.id or 0, after=after)

    async def _wait(self, under_way: set[asyncio.Task[None]]) -> None:
        """Until a call has ended, or the run shall stop."""
        await asyncio.wait(under_way, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def _until_affordable(self, under_way: set[asyncio.Task[None]]) -> None:
        while not self._stop.is_set() and not self.ledger.allows():
            if not under_way:
                self._halt(RunPaused(_spent(self.ledger)))
                return
            await self._wait(under_way)

    async def _drain(self, under_way: set[asyncio.Task[None]]) -> None:
        """Wait for what is under way; a run that shall stop does not wait forever."""
        while under_way and not self._stop.is_set():
            await self._wait(under_way)
        if under_way:
            await asyncio.wait(under_way, timeout=DRAIN_SECONDS)
        for task in list(under_way):
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _make(self, call: Call) -> None:
        """Make a call until it is done, has failed for good, or the run shall stop."""
        number = call.attempts
        try:
            while True:
                number += 1
                attempt, wait = await self.asker.attempt(call, number)
                self.ledger.book(_cost(attempt, self.request))
                await self._results.put(attempt)
                if attempt.state is not CallState.OPEN:
                    break
                self._look_at_the_server()
                if self._stop.is_set():
                    break
                await self._pause(wait)
                if self._stop.is_set():
                    break
        except Exception as error:  # what cannot be mended by asking again ends the run
            self._halt(error)
        finally:
            self.ledger.under_way -= 1

    async def _pause(self, seconds: float) -> None:
        """Sleep, but wake when the run shall stop."""
        if seconds > 0:
            try:
                await asyncio.wait_for(self._stop.wait(), timeout=seconds)
            except TimeoutError:
                return

    def _look_at_the_server(self) -> None:
        gate = self.asker.gate
        if gate.failures >= max(DOWN_AFTER, self.request.concurrency):
            self._halt(
                RunPaused(
                    f"Paused: {gate.failures} calls in a row got no answer ({gate.last}) Nothing "
                    "is lost; resume when the server answers."
                )
            )

    def _halt(self, why: Exception) -> None:
        if self._why is None:
            self._why = why
        self._stop.set()

    async def _watch(self) -> None:
        """Look whether somebody asked for the run to stop."""
        while True:
            try:
                self.context.check()
            except Exception as error:  # cancelled, paused or interrupted
                self._halt(error)
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _write(self) -> None:
        """Store attempts as they arrive, all that have arrived in one transaction."""
        ended = False
        while not ended:
            batch = [await self._results.get()]
            while not self._results.empty():
                batch.append(self._results.get_nowait())
            ended = None in batch
            attempts = [attempt for attempt in batch if attempt is not None]
            try:
                await asyncio.to_thread(self._store, attempts)
            except HedgerowError as error:  # the database is full or gone: stop asking
                self._halt(error)
                return
            self._count(attempts)

    def _store(self, attempts: Sequence[Attempt]) -> None:
        origin = Origin(self.request.provider, self.request.model)
        with writing(self.context.engine) as session:
            store_attempts(session, attempts, origin=origin, price=self.request.price)

    def _count(self, attempts: Sequence[Attempt]) -> None:
        self.done += sum(attempt.state is CallState.DONE for attempt in attempts)
        self.failed += sum(attempt.state is CallState.FAILED for attempt in attempts)
        failed = f", {self.failed:,} failed" if self.failed else ""
        money = f", {self.ledger.money:.2f} $" if self.ledger.money else ""
        self.context.progress(
            self.done + self.failed, self.total, f"{self.done:,} answers stored{failed}{money}."
        )


def _cost(attempt: Attempt, request: GenerationRequest) -> float:
    reply = attempt.reply
    return request.price.cost(reply.prompt_tokens, reply.completion_tokens) if reply else 0.0


def _spent(ledger: Ledger) -> str:
    return (
        f"Paused at the budget: {ledger.calls:,} calls for {ledger.money:.2f} $ so far; raise the "
        "budget to go on."
    )
