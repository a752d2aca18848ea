"""Stores answers while calls are made, and saves what can't be stored.

A model's answers have been paid for. While the database can't store anything, no calls are made,
and answers wait in memory. If that lasts, they are saved in a file for the next attempt at the run.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from curation.generation.storing import Attempt
from db.errors import HedgerowError
from db.execution import RunContext
from db.named_files import find_aside, put_aside

STORE_AGAIN_SECONDS = (1.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds to wait before retrying a database that is full, busy or unreachable."""

GATHER_SECONDS = 0.1
"""Maximum seconds that answers wait to share a transaction, which halves the work."""

_ATTEMPT = TypeAdapter(Attempt)

Store = Callable[[Sequence[Attempt]], list[Attempt]]


@dataclass
class Keeper:
    """The only writer of a run, so that the database has one transaction at a time.

    Attributes:
        store: stores attempts, and returns those that were not stored before.
        on_stored: called with the stored attempts.
        on_trouble: called with the reason if nothing can be stored for a long time.
        stop: set when the run should end, so that nothing waits any longer.
        most: maximum waiting attempts before calls stop.
        is_shut: whether the last attempt to store failed; if so, calls stop.
    """

    context: RunContext
    store: Store
    on_stored: Callable[[list[Attempt]], None]
    on_trouble: Callable[[Exception], None]
    stop: asyncio.Event
    most: int
    is_shut: bool = False
    _arrived: asyncio.Queue[Attempt | None] = field(default_factory=asyncio.Queue)
    _waiting: list[Attempt] = field(default_factory=list)
    _has_ended: bool = False
    _gave_up: Exception | None = None

    def take(self, attempt: Attempt) -> None:
        """Accept an attempt for storing, without waiting. From now on it is not lost."""
        self._arrived.put_nowait(attempt)

    def end(self) -> None:
        """Announce that there are no more attempts."""
        self._arrived.put_nowait(None)

    @property
    def has_space(self) -> bool:
        """Whether the answer to a new call could be stored."""
        return not self.is_shut and self._arrived.qsize() < self.most

    async def run(self) -> None:
        """Store attempts until the end, all waiting ones in one transaction.

        Raises:
            HedgerowError: something could not be stored; the message says where it was saved.
        """
        while not self._has_ended:
            self._take_in(await self._arrived.get())
            self._gather()
            if self._gave_up is None:
                await self._keep()
            if not self._has_ended:
                await asyncio.sleep(GATHER_SECONDS)
        if self._gave_up is not None:
            await asyncio.to_thread(self._rescue, self._gave_up)

    def _take_in(self, attempt: Attempt | None) -> None:
        if attempt is None:
            self._has_ended = True
        else:
            self._waiting.append(attempt)

    def _gather(self) -> None:
        while not self._arrived.empty():
            self._take_in(self._arrived.get_nowait())

    async def _keep(self) -> None:
        """Store the waiting attempts; on failure, retry for a while."""
        for wait in (*STORE_AGAIN_SECONDS, None):
            try:
                stored = await asyncio.to_thread(self.store, self._waiting)
            except HedgerowError as error:
                self.is_shut = True
                if wait is None:
                    self._give_up(error)
                    return
                await pause(wait, self.stop)
                self._gather()
            except Exception as error:  # retrying does not help with a bug
                self._give_up(error)
                return
            else:
                self._waiting, self.is_shut = [], False
                self.on_stored(stored)
                return

    def _give_up(self, error: Exception) -> None:
        self.is_shut, self._gave_up = True, error
        self.on_trouble(error)

    # -- what could not be stored ---------------------------------------------------------

    def _rescue(self, error: Exception) -> None:
        """Store the waiting attempts if that is now possible; else save them in a file.

        Raises:
            HedgerowError: the message says what was saved where, or lost.
        """
        try:
            self.on_stored(self.store(self._waiting))
        except Exception:  # the first error is the cause
            raise unstored(self.context, self._waiting, error) from error
        raise error


async def pause(seconds: float, stop: asyncio.Event) -> None:
    """Sleep, but wake up when the run should stop."""
    if seconds > 0:
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), timeout=seconds)


def recover(context: RunContext, store: Store) -> list[Attempt]:
    """Store attempts that earlier tries at a run saved in a file; return what was stored.

    Raises:
        HedgerowError: they can't be stored now, or can't be read; the file is kept.
    """
    stored = []
    for path in find_aside(context.folder, _name(context)):
        try:
            found = [_ATTEMPT.validate_json(line) for line in path.read_bytes().splitlines()]
        except (OSError, ValidationError) as error:
            raise HedgerowError(
                f"The answers in {path}, which could not be stored earlier, cannot be read; move "
                "the file away to continue without them."
            ) from error
        stored += store(found)
        path.unlink()
    return stored


def unstored(context: RunContext, attempts: Sequence[Attempt], error: Exception) -> HedgerowError:
    """Save attempts that could not be stored in a file; return a message that says so and where."""
    number = sum(attempt.reply is not None for attempt in attempts)
    why = str(error) if isinstance(error, HedgerowError) else f"{type(error).__name__}: {error}."
    answers = f"{number:,} {'answer' if number == 1 else 'answers'} that could not be stored"
    are = "is" if number == 1 else "are"
    if not attempts:
        return HedgerowError(why)
    # One array per line; half of a surrogate pair, which UTF-8 can't encode, becomes a '?'.
    lines = (json.dumps(attempt, ensure_ascii=False) for attempt in attempts)
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    try:
        path = put_aside(context.folder, _name(context), content)
    except OSError:
        return HedgerowError(f"{why} {answers} {are} lost, because no folder has room for them.")
    return HedgerowError(
        f"{why} {answers} {are} saved in {path}; run 'hedgerow run {context.run.id}' to store them."
    )


def _name(context: RunContext) -> str:
    """Return the same name for every try at this run of this project, and for no other run."""
    run = context.run
    whole = f"{context.settings.data_folder.resolve()}\n{run.id}\n{run.created_at.isoformat()}"
    return f"answers-{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
