"""Store the answers of batches with their calls, and track the batch of open calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from curation.generation.calls import Call, count_calls, open_calls
from curation.generation.costs.ledger import Ledger
from curation.generation.providers.batch import open_calls as places
from curation.generation.providers.chat.answers import AnswerProblem
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
    """The calls of one run, and what is stored of them.

    Attributes:
        total, ended: calls of the run; those that are done or have failed.
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
        """What a query about the run gives."""
        with reading(self.context.engine) as session:
            return query(session, self.run_id)

    def count(self) -> None:
        """Read how many calls there are."""
        counts = self.read(count_calls)
        self.total = sum(counts.values())
        self.ended = self.total - counts[CallState.OPEN]

    def report(self, done: int, message: str) -> None:
        """Report how far the run is: what has ended, and ``done`` of what is under way."""
        money = f" {self.ledger.cost()} so far." if self.ledger.money else ""
        self.context.progress(self.ended + done, self.total, message + money)

    # -- places ---------------------------------------------------------------------------

    def label(self, ids: Sequence[int], label: str) -> None:
        """Put these calls under the label of a batch to come."""
        with writing(self.context.engine) as session:
            places.label(session, self.run_id, ids, label)

    def move(self, old: str, new: str) -> int:
        """Let all calls that lie in one place lie in another; gives how many."""
        with writing(self.context.engine) as session:
            return places.move(session, self.run_id, old, new)

    # -- storing --------------------------------------------------------------------------

    def keep(self, attempt: Attempt) -> None:
        """Store an attempt that was made at once: unlike a batch, nobody keeps it for us.

        Raises:
            HedgerowError: it could not be stored; says where it is kept.
        """
        try:
            self.store([attempt], self.request.price)
        except HedgerowError as error:
            raise unstored(self.context, [attempt], error) from error

    def recover(self) -> None:
        """Store what earlier attempts at this run have put aside."""
        recover(self.context, lambda attempts: self.store(attempts, self.request.price))

    def store(self, attempts: Sequence[Attempt], price: Price) -> list[Attempt]:
        """Store attempts, and set their calls free that are still open.

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
        """Store answers, by the number of the call, to those that wait for them in this batch."""
        with reading(self.context.engine) as session:
            calls = open_calls(session, self.run_id, ids=list(answers), batch=batch_id)
        self.store([self._attempt(call, answers[call.id]) for call in calls], self.request.charged)

    def count_as_failed(self, batch_id: str, *, expired: bool) -> None:
        """Store that this batch brought no answer to the calls that are left in it."""
        error = (
            CallError(AnswerProblem.EXPIRED, "The batch expired before this call was made.")
            if expired
            else CallError(AnswerProblem.SERVER, "The batch ended without an answer to this call.")
        )
        while calls := self._left_in(batch_id):
            self.store([self._attempt(call, error) for call in calls], self.request.charged)

    def _attempt(self, call: Call, answer: Reply | CallError) -> Attempt:
        # The tries of all batches count, so that no call is put into batches for ever.
        number = call.attempts + 1
        if isinstance(answer, CallError):
            return self.asker.failed(call, number, answer, tries=number)
        model = self.asker.model
        request = model.request(*self.asker.question(call))
        return self.asker.answered(call, number, model.checked(answer, request), tries=number)

    def _left_in(self, batch_id: str) -> list[Call]:
        with reading(self.context.engine) as session:
            return open_calls(session, self.run_id, batch=batch_id, limit=CHUNK)
