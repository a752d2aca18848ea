"""Carries out a run with the provider's Batch API: slow, but at half the price.

The batch of a call is stored with the call (``ModelCall.batch``), so that any process can continue
to wait for it. Before a batch is created, its label is stored there instead. A process that finds a
label searches for its batch, and creates one only if there is none. An answer is stored with the
call that it names.
"""

import asyncio
import uuid
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from openai.types import Batch

from curation.generation.budget import Ledger
from curation.generation.calls import Call
from curation.generation.providers import waiting
from curation.generation.providers.batch.api import (
    ENDED,
    BatchApi,
    has_too_many,
    read_answer,
    request_line,
    why_failed,
)
from curation.generation.providers.batch.collecting import (
    CHUNK,
    BatchStore,
    calls_in,
    mean_costs,
    one_a_role,
    taken_place,
)
from curation.generation.providers.chat.completions import CallError
from curation.generation.providers.chat.retries import Asker
from curation.generation.providers.waiting import Waiting, check_server
from curation.generation.request import ModelRequest
from curation.taxonomy.project_types import types_in_use
from db.engine import reading
from db.errors import HedgerowError, RunCancelled, RunPaused
from db.execution import RunContext

LABELLED = "label:"
"""The prefix of labels, which no provider uses for batch ids."""

MAX_CALLS, MAX_BYTES = 50_000, 100_000_000
"""Limits of one batch; OpenAI accepts 50,000 calls and 200 MB."""

CANCEL_SECONDS = 15.0
"""Seconds that a cancelled run waits for its batch's results."""


@dataclass
class BatchWorker:
    """The state of a run that is carried out in this process, one batch at a time.

    Attributes:
        at_most: maximum calls in one batch; reduced when the provider finds a batch too large.
    """

    context: RunContext
    request: ModelRequest
    asker: Asker
    ledger: Ledger
    at_most: int = MAX_CALLS
    _tried: bool = False
    _api: BatchApi = field(init=False)
    _store: BatchStore = field(init=False)
    _waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        self._api = BatchApi(self.asker.model)
        self._store = BatchStore(self.context, self.request, self.asker, self.ledger)
        self._waiting = Waiting(self.context, lambda message: self._store.report(0, message))

    async def run(self) -> None:
        """Send open calls, wait and store the answers until no call is open.

        Raises:
            RunCancelled: the run was cancelled; its batch is cancelled too.
            RunPaused: the budget is spent, or the provider refused or did not finish a batch.
            HedgerowError: no call can succeed.
        """
        await asyncio.to_thread(self._store.recover)
        self._store.count()
        try:
            while place := self._store.read(taken_place) or await self._choose():
                await self._carry_out(place)
        finally:
            await self.asker.model.close()

    async def _carry_out(self, place: str) -> None:
        try:
            if place.startswith(LABELLED):
                place = await self._send(place)
            batch = await self._wait(place)
        except RunCancelled:
            if self._waiting.is_cancelled:
                await self._cancel(place)
            raise
        await self._collect(batch)

    # -- sending --------------------------------------------------------------------------

    async def _choose(self) -> str:
        """Assign the next calls to a new label and return it; '' if no call is open.

        Raises:
            RunPaused: the budget allows no further call.
        """
        self.context.check()
        with reading(self.context.engine) as session:
            self.asker.keep_only(types_in_use(session))
        if not self._tried:
            self._tried = True
            await self._try_out()
        ids, any_open = await asyncio.to_thread(self._affordable)
        if not ids:
            if any_open:
                raise RunPaused(self.ledger.spent())
            return ""
        label = LABELLED + uuid.uuid4().hex
        self._store.label(ids, label)
        return label

    async def _try_out(self) -> None:
        """Make one direct call for each role before sending thousands.

        This shows immediately whether key and model are right, what the server supports and what an
        answer costs. A batch would show it a day later.
        """
        for call in self._store.read(one_a_role):
            if self.ledger.allows() and self.asker.asked_types(call):
                self._store.report(0, "Checking model and parameters with one call.")
                asked = self.asker.attempt(call, call.attempts + 1)
                attempt, _ = await self._waiting.unless_stopped(asked)
                self._store.keep(attempt)
                check_server(self.asker.gate)

    def _affordable(self) -> tuple[list[int], bool]:
        """Return the next calls that fit into the budget and a file; and whether any is open."""
        ids, size, money = list[int](), 0, 0.0
        cap = self.request.budget.money
        left = float("inf") if cap is None else cap - self.ledger.money
        room = min(self.ledger.room(0.0), self.at_most)
        with reading(self.context.engine) as session:
            means = mean_costs(session, self._store.run_id, self.request.charged)
            for call in calls_in(session, self._store.run_id, ""):
                if not self.asker.asked_types(call):  # all of them are retired
                    continue
                line = self._line(call)
                size += len(line)
                # Each token is at least one byte.
                bound = self.request.charged.cost(len(line), self.request.max_tokens)
                money += means.get(call.role, bound)
                if len(ids) >= room or size > MAX_BYTES or money > left:
                    return ids, True
                ids.append(call.id)
        return ids, bool(ids)

    def _line(self, call: Call) -> bytes:
        return request_line(call.id, self.asker.model.request(*self.asker.question(call)))

    async def _send(self, label: str) -> str:
        """Find the batch with this label, or create it from its calls; return its id.

        Raises:
            RunPaused: the provider does not answer.
            HedgerowError: the provider accepts no such batch.
        """
        try:
            batch = await self._waiting.tries(lambda: self._found_or_made(label))
        except CallError as error:
            self._store.move(label, "")
            raise HedgerowError(f"The provider refused the batch: {error}") from error
        self._store.move(label, batch.id)
        return batch.id

    async def _found_or_made(self, label: str) -> Batch:
        if batch := await self._api.find(label, since=self.context.run.created_at):
            return batch
        self._store.report(0, "Sending a batch.")
        path = self.context.folder / "batch.jsonl"
        try:
            await asyncio.to_thread(self._write_file, path, label)
            return await self._api.create(path, label)
        finally:
            path.unlink(missing_ok=True)

    def _write_file(self, path: Path, label: str) -> None:
        with reading(self.context.engine) as session, path.open("wb") as file:
            calls = calls_in(session, self._store.run_id, label)
            file.writelines(map(self._line, filter(self.asker.asked_types, calls)))

    # -- waiting --------------------------------------------------------------------------

    async def _wait(self, batch_id: str) -> Batch:
        """Wait until the batch has ended, however long the provider takes.

        Raises:
            RunPaused: the provider has not answered for a long time.
        """

        def has_ended(batch: Batch) -> bool:
            if batch.status in ENDED:
                return True
            counts = batch.request_counts
            done = (counts.completed or 0) + (counts.failed or 0) if counts else 0
            self._store.report(done, f"The batch {batch_id} is {batch.status.replace('_', ' ')}.")
            return False

        return await self._waiting.until(lambda: self._api.state(batch_id), has_ended)

    async def _cancel(self, place: str) -> None:
        """Cancel the batch, if there is one, and store its results if they arrive soon.

        If only a label is known, the run was cancelled while the batch was being created.
        """
        with suppress(CallError, RunPaused):
            if place.startswith(LABELLED):
                made = await self._api.find(place, since=self.context.run.created_at)
                self._store.move(place, made.id if made else "")
                if made is None:
                    return
                place = made.id
            await self._api.cancel(place)
            batch = await self._api.state(place)
            begun = asyncio.get_running_loop().time()
            while batch.status not in ENDED:
                if asyncio.get_running_loop().time() > begun + CANCEL_SECONDS:
                    return  # a resumed run finds the batch and its results
                await asyncio.sleep(waiting.CHECK_SECONDS)
                batch = await self._api.state(place)
            await self._collect(batch)

    # -- storing --------------------------------------------------------------------------

    async def _collect(self, batch: Batch) -> None:
        """Store the results of a batch, and free the calls that it left unanswered.

        Raises:
            RunPaused: the batch was refused, or cancelled at the provider.
        """
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id:
                await self._fetch(file_id, batch.id)
        if batch.status in ("completed", "expired"):
            self._store.count_as_failed(batch.id, expired=batch.status == "expired")
            return
        size = self._store.move(batch.id, "")
        if batch.status == "cancelled":
            raise RunPaused(
                "Paused: the batch was cancelled. Resume to send the remaining calls again."
            )
        if not (has_too_many(batch) and size > 1):
            why = self.asker.model.without_key(why_failed(batch))
            raise RunPaused(f"Paused: the provider refused the batch: {why}")
        self.at_most = min(self.at_most, size) // 2 or 1

    async def _fetch(self, file_id: str, batch_id: str) -> None:
        """Store the answers in a file. Answers stored before a broken transfer are kept."""
        for number in range(1, waiting.TRIES + 1):
            try:
                async with aclosing(self._api.lines(file_id, at_once=CHUNK)) as arriving:
                    async for lines in arriving:
                        answers = dict(found for line in lines if (found := read_answer(line)))
                        await asyncio.to_thread(self._store.store_answers, answers, batch_id)
                return
            except CallError as error:
                await self._waiting.sleep_or_pause(number, error)
