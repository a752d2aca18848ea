"""Stores the answers of batches with their calls, and tracks the batch of each open call.

The place of an open call is '', a label for a future batch, or a batch id (``ModelCall.batch``).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks
from curation.generation.answers import AnswerProblem
from curation.generation.budget import Ledger
from curation.generation.calls import Call, count_calls, is_open, open_calls
from curation.generation.providers.chat.completions import CallError, Reply
from curation.generation.providers.chat.retries import Asker
from curation.generation.request import ModelRequest, Price
from curation.generation.storing import Attempt, Origin, cost_of, store_attempts
from curation.generation.unstored_answers import recover, unstored
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Anchor, Answer, CallState, ModelCall

Result = TypeVar("Result")

CHUNK = 500
"""Answers stored in one transaction."""


def taken_place(session: Session, run_id: int) -> str:
    """Return the batch or label that open calls have; '' if none."""
    query = select(col(ModelCall.batch)).where(is_open(run_id), col(ModelCall.batch) != "")
    return session.execute(query.limit(1)).scalar() or ""


def calls_in(session: Session, run_id: int, place: str) -> Iterator[Call]:
    """Yield all open calls with this batch or label, with one block in memory at a time."""
    after = 0
    while block := open_calls(session, run_id, batch=place, after=after):
        yield from block
        after = block[-1].id


def one_a_role(session: Session, run_id: int) -> list[Call]:
    """Return the first open call of each role."""
    query = select(func.min(col(ModelCall.id))).where(is_open(run_id)).group_by(col(ModelCall.role))
    ids = [call_id for call_id in session.execute(query).scalars() if call_id is not None]
    return open_calls(session, run_id, ids=ids)


def _put(session: Session, run_id: int, ids: Sequence[int], **values: object) -> None:
    """Set these values in those of these calls that are open."""
    for some in chunks(ids):
        its = (col(ModelCall.id).in_(some), is_open(run_id))
        session.execute(update(ModelCall).where(*its).values(**values))


def mean_costs(session: Session, run_id: int, price: Price) -> dict[str, float]:
    """Return the mean cost of a call by role, from the run's answers so far and this price."""
    query = (
        select(
            col(ModelCall.role),
            func.avg(col(Answer.prompt_tokens)),
            func.avg(col(Answer.completion_tokens)),
        )
        .join(Answer, col(Answer.call_id) == ModelCall.id)
        .where(col(ModelCall.run_id) == run_id, col(Answer.prompt_tokens).is_not(None))
        .group_by(col(ModelCall.role))
    )
    return {
        role: (float(prompt) * price.prompt + float(completion or 0) * price.completion) / 1e6
        for role, prompt, completion in session.execute(query)
    }


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
        """Assign these calls to a future batch, each with the current revision of its anchor."""
        its = select(col(Anchor.revision)).where(col(Anchor.id) == col(ModelCall.anchor_id))
        with writing(self.context.engine) as session:
            revision = its.scalar_subquery()
            _put(session, self.run_id, ids, batch=label, anchor_revision=revision)

    def move(self, old: str, new: str) -> int:
        """Move all calls with one batch or label to another; return their number."""
        with writing(self.context.engine) as session:
            moved = session.connection().execute(
                update(ModelCall)
                .where(is_open(self.run_id), col(ModelCall.batch) == old)
                .values(batch=new)
            )
            return moved.rowcount

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
            _put(session, self.run_id, [attempt.call.id for attempt in attempts], batch="")
        for attempt in stored:
            self.ledger.book_reply(cost_of(attempt, price), attempt.reply)
        self.ended += sum(attempt.state is not CallState.OPEN for attempt in stored)
        return stored

    def store_answers(self, answers: dict[int, Reply | CallError], batch_id: str) -> None:
        """Store answers, by call number, for calls that wait for them in this batch."""
        calls = self.read(partial(open_calls, ids=list(answers), batch=batch_id))
        self.store([self._attempt(call, answers[call.id]) for call in calls], self.request.charged)

    def count_as_failed(self, batch_id: str, *, expired: bool) -> None:
        """Record that this batch did not answer the calls that are left in it."""
        error = (
            CallError(AnswerProblem.EXPIRED, "The batch expired before this call was made.")
            if expired
            else CallError(AnswerProblem.SERVER, "The batch ended without an answer to this call.")
        )
        left = partial(open_calls, batch=batch_id, limit=CHUNK)
        while calls := self.read(left):
            self.store([self._attempt(call, error) for call in calls], self.request.charged)

    def _attempt(self, call: Call, answer: Reply | CallError) -> Attempt:
        # Attempts in all batches count, so that no call is sent in batches forever.
        number = call.attempts + 1
        if isinstance(answer, CallError):
            return self.asker.failed(call, number, answer, tries=number)
        model = self.asker.model
        request = model.request(*self.asker.question(call))
        return self.asker.answered(call, number, model.checked(answer, request), tries=number)
