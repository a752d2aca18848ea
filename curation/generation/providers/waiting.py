"""Waits hours for a provider's work: tolerates failures, but stops promptly with the run."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from curation.generation.answers import PASSING
from curation.generation.providers.chat.completions import CallError
from curation.generation.providers.chat.retries import Gate, doubling
from db.errors import RunPaused
from db.execution import RunContext
from db.models import RunState

Result = TypeVar("Result")

POLL_SECONDS = 15.0
CHECK_SECONDS = 0.2
"""Seconds between checks of the provider and of whether the run should stop."""

AWAY_SECONDS = 600.0
"""Seconds that a provider may fail to answer before the run pauses."""

TRIES = 5
"""Maximum attempts to send or fetch a file before the run pauses."""

MANY = 50_000
"""The number of concurrent calls for a gate.

It is so high that failures alone never pause a run, but the server's requests to wait can.
"""


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
        """Whether somebody has cancelled the run; False if it pauses by itself."""
        return self.context.stop.is_set() and self.context.stop_reason is RunState.CANCELLED

    async def until(
        self, ask_state: Callable[[], Awaitable[Result]], has_ended: Callable[[Result], bool]
    ) -> Result:
        """Check repeatedly until the provider's work has ended, however long that takes.

        Args:
            has_ended: called with the result of each check; may report progress.

        Raises:
            RunCancelled: the run should stop.
            RunPaused: the provider has not answered for a long time, or asks for a long wait.
        """
        loop = asyncio.get_running_loop()
        answered_at, missed = loop.time(), 0
        while True:
            try:
                found = await self.unless_stopped(ask_state())
            except CallError as error:
                self.tell(f"Waiting for the provider: {error}")
                missed += 1
                wait = self.wish(error) or doubling(POLL_SECONDS, missed)
                if loop.time() > answered_at + AWAY_SECONDS:
                    raise RunPaused(unreachable(error)) from error
            else:
                answered_at, missed, wait = loop.time(), 0, POLL_SECONDS
                if has_ended(found):
                    return found
            await self.sleep(wait)

    async def tries(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of an operation at the provider, retrying after temporary failures.

        Raises:
            CallError: it failed for another reason.
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
        """Sleep before the next attempt after a failure.

        Raises:
            RunPaused: this was the last attempt.
        """
        wait = self.wish(error) or 2.0**number
        if number == TRIES:
            raise RunPaused(unreachable(error)) from error
        await self.sleep(wait)

    def wish(self, error: CallError) -> float | None:
        """Return the seconds that the provider asks to wait; None if it doesn't say.

        Raises:
            RunPaused: it asks for too long a wait.
        """
        gate = Gate()
        gate.failed(error)
        check_server(gate)
        return error.retry_after

    async def unless_stopped(self, work: Awaitable[Result]) -> Result:
        """Return the result of this work, which is abandoned when the run should stop."""
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait({task}, timeout=CHECK_SECONDS)
            if self.context.stop.is_set() and not task.done():
                task.cancel()
                await asyncio.wait({task})
                self.context.check()
        return task.result()


def check_server(gate: Gate) -> None:
    """Continue, unless the gate says that the run should pause.

    Raises:
        RunPaused: the gate says so.
    """
    if why := gate.why_pause(at_once=MANY, attempts=TRIES):
        raise RunPaused(why)


def unreachable(error: CallError) -> str:
    """Return why a run pauses after this failure of its provider."""
    return (
        f"Paused: the provider cannot be reached ({str(error).removesuffix('.')}). "
        "Nothing is lost; resume when it answers."
    )
