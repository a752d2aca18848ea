"""Waiting for what takes a provider hours: patient with failures, quick to stop with the run."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from curation.generation.providers.chat.completions import CallError
from curation.generation.providers.chat.retries import doubling
from curation.generation.providers.chat.throttling import PASSING, Gate
from db.errors import RunPaused
from db.execution import RunContext
from db.models import RunState

Result = TypeVar("Result")

POLL_SECONDS = 15.0
CHECK_SECONDS = 0.2
"""Between two looks at the provider, and at whether the run should stop."""

AWAY_SECONDS = 600.0
"""How long a provider that gives no answer is asked how the work goes, before the run pauses."""

TRIES = 5
"""How often a file is sent or fetched before the run pauses."""

MANY = 50_000
"""Calls under way together, as a gate counts them: with so many, failures alone pause no run, but
what the server asks for does."""


@dataclass
class Waiting:
    """Waits in a run's own process.

    Attributes:
        tell: reports a sentence as the run's progress.
    """

    context: RunContext
    tell: Callable[[str], None]

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has cancelled the run; one that pauses by itself is not."""
        return self.context.stop.is_set() and self.context.stop_reason is RunState.CANCELLED

    async def until(
        self, look: Callable[[], Awaitable[Result]], has_ended: Callable[[Result], bool]
    ) -> Result:
        """Look again and again until the work at the provider has ended, however long that takes.

        Args:
            has_ended: is asked of each look, and may report what it sees.

        Raises:
            RunCancelled: the run should stop.
            RunPaused: the provider gives no answer for long, or wants to be left alone for long.
        """
        loop = asyncio.get_running_loop()
        heard, missed = loop.time(), 0
        while True:
            try:
                found = await self.unless_stopped(look())
            except CallError as error:
                self.tell(f"Waiting for the provider: {error}")
                missed += 1
                wait = self.wish(error) or doubling(POLL_SECONDS, missed)
                if loop.time() > heard + AWAY_SECONDS:
                    raise RunPaused(unreachable(error)) from error
            else:
                heard, missed, wait = loop.time(), 0, POLL_SECONDS
                if has_ended(found):
                    return found
            await self.sleep(wait)

    async def tries(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """The result of work at the provider, tried again where it fails in a way that passes.

        Raises:
            CallError: it failed in another way.
            RunCancelled: the run should stop.
            RunPaused: it failed too often.
        """
        number = 1
        while True:
            try:
                return await self.unless_stopped(work())
            except CallError as error:
                if error.problem not in PASSING:
                    raise
                await self.sleep_or_pause(number, error)
                number += 1

    async def sleep(self, seconds: float) -> None:
        """Sleep, unless the run should stop."""
        await self.unless_stopped(asyncio.sleep(seconds))

    async def sleep_or_pause(self, number: int, error: CallError) -> None:
        """Before the next try after this one failed.

        Raises:
            RunPaused: it was the last.
        """
        wait = self.wish(error) or 2.0**number
        if number == TRIES:
            raise RunPaused(unreachable(error)) from error
        await self.sleep(wait)

    def wish(self, error: CallError) -> float | None:
        """Seconds that the provider asks to wait; None where it says nothing.

        Raises:
            RunPaused: it is longer than anybody wants to wait.
        """
        gate = Gate()
        gate.failed(error)
        check_server(gate)
        return error.retry_after

    async def unless_stopped(self, work: Awaitable[Result]) -> Result:
        """The result of this work, which is broken off when the run should stop."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait({task}, timeout=CHECK_SECONDS)
            if self.context.stop.is_set() and not task.done():
                task.cancel()
                await asyncio.wait({task})
                self.context.check()
        return task.result()


def check_server(gate: Gate) -> None:
    """Go on, unless the server has shown that nobody should.

    Raises:
        RunPaused: it has.
    """
    if why := gate.why_pause(at_once=MANY, attempts=TRIES):
        raise RunPaused(why)


def unreachable(error: CallError) -> str:
    """Why a run pauses whose provider fails in this way."""
    return (
        f"Paused: the provider cannot be reached ({str(error).removesuffix('.')}). "
        "Nothing is lost; resume when it answers."
    )
