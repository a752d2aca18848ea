"""Stores the answers of batches with their calls, and tracks the batch of each open call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from curation.generation.answers import AnswerProblem
from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.ledger import Ledger
from curation.generation.providers.batch import open_calls as places
from curation.generation.providers.chat.completions import CallError, Reply
from curation.generation.providers.chat.retries import Asker
from curation.generation.request import ModelRequest, Price
from curation.generation.storing import Attempt, Origin, cost_of, store_attempts
from curation.generation.unstored_answers import recover, unstored
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import CallState

Result = TypeVar("Result")

CHUNK = 500
"""Answers stored in one transaction."""


@dataclass
class BatchStore:
    """The calls of one run, and their stored answers.

    Attributes:
        total, ended: number of all calls, and of those that are done or have failed.
    """

    context: RunContext
    request: ModelRequest
    asker: Asker
    ledger: Ledger
    total: int = 0
    ended: int = 0

    @property
    def run_id(self) -> int:
        """The run's number."""
        return self.context.run.id

    def read(self, query: Callable[..., Result]) -> Result:
        """Return the result of a query about the run."""
        with reading(self.context.engine) as session:
            return query(session, self.run_id)

    def count(self) -> None:
        """Count the calls."""
        counts = self.read(count_calls)
        self.total = sum(counts.values())
        self.ended = self.total - counts[CallState.OPEN]

    def report(self, done: int, message: str) -> None:
        """Report progress: the ended calls, and ``done`` of those in progress."""
        money = f" {self.ledger.cost()} so far." if self.ledger.money else ""
        self.context.progress(self.ended + done, self.total, message + money)

    # -- places ---------------------------------------------------------------------------

    def label(self, ids: Sequence[int], label: str) -> None:
        """Assign these calls to the label of a future batch."""
        with writing(self.context.engine) as session:
            places.label(session, self.run_id, ids, label)

    def move(self, old: str, new: str) -> int:
        """Move all calls with one batch or label to another; return their number."""
        with writing(self.context.engine) as session:
            return places.move(session, self.run_id, old, new)

    # -- storing --------------------------------------------------------------------------

    def keep(self, attempt: Attempt) -> None:
        """Store an attempt made directly. Unlike a batch, it is not kept by the provider.

        Raises:
            HedgerowError: it could not be stored; the message says where it was saved.
        """
        try:
            self.store([attempt], self.request.price)
        except HedgerowError as error:
            raise unstored(self.context, [attempt], error) from error

    def recover(self) -> None:
        """Store answers that earlier attempts at this run saved in a file."""
        recover(self.context, lambda attempts: self.store(attempts, self.request.price))

    def store(self, attempts: Sequence[Attempt], price: Price) -> list[Attempt]:
        """Store attempts, and take calls that are still open out of their batch.

        Returns:
            Those that were not stored before.
        """
        origin = Origin(self.request.provider, self.request.model)
        with writing(self.context.engine) as session:
            stored = store_attempts(session, attempts, origin=origin, price=price)
            places.put(session, self.run_id, [attempt.call.id for attempt in attempts], "")
        for attempt in stored:
            self.ledger.book_reply(cost_of(attempt, price), attempt.reply)
        self.ended += sum(attempt.state is not CallState.OPEN for attempt in stored)
        return stored

    def store_answers(self, answers: dict[int, Reply | CallError], batch_id: str) -> None:
        """Store answers, by call number, for calls that wait for them in this batch."""
        with reading(self.context.engine) as session:
            calls = open_calls(session, self.run_id, ids=list(answers), batch=batch_id)
        self.store([self._attempt(call, answers[call.id]) for call in calls], self.request.charged)

    def count_as_failed(self, batch_id: str, *, expired: bool) -> None:
        """Record that this batch did not answer the calls that are left in it."""
        error = (
            CallError(AnswerProblem.EXPIRED, "The batch expired before this call was made.")
            if expired
            else CallError(AnswerProblem.SERVER, "The batch ended without an answer to this call.")
        )
        while calls := self._left_in(batch_id):
            self.store([self._attempt(call, error) for call in calls], self.request.charged)

    def _attempt(self, call: Call, answer: Reply | CallError) -> Attempt:
        # Attempts in all batches count, so that no call is sent in batches forever.
        number = call.attempts + 1
        if isinstance(answer, CallError):
            return self.asker.failed(call, number, answer, tries=number)
        model = self.asker.model
        request = model.request(*self.asker.question(call))
        return self.asker.answered(call, number, model.checked(answer, request), tries=number)

    def _left_in(self, batch_id: str) -> list[Call]:
        with reading(self.context.engine) as session:
            return open_calls(session, self.run_id, batch=batch_id, limit=CHUNK)
