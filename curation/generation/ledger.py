"""A run's spending against its budget, and whether the budget allows the next call."""

from dataclasses import dataclass

from sqlalchemy import Engine, case, func, select
from sqlmodel import col

from curation.generation import prices
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import Budget
from db.columns import not_null
from db.engine import reading
from db.models import Answer


@dataclass
class Ledger:
    """The spending of a run, including before it was resumed, against its budget.

    Attributes:
        calls: finished attempts, including failed ones.
        answers: attempts with an answer.
        money: US dollars.
        largest: cost of the most expensive answer in US dollars.
        is_estimate: whether tokens were estimated because the server reports none.
        under_way: attempts in progress; each counts as much as the most expensive answer.
    """

    budget: Budget
    calls: int = 0
    answers: int = 0
    money: float = 0.0
    largest: float = 0.0
    is_estimate: bool = False
    under_way: int = 0

    def allows(self) -> bool:
        """Whether one more call stays within the budget."""
        # If the cost of a call is unknown, one call is made to find out.
        unknown = not self.answers and self.budget.money is not None
        return self.under_way == 0 and self.room(0.0) > 0 if unknown else self.room() > 0

    def room(self, expected: float | None = None) -> float:
        """Number of further calls within the budget; infinite without a budget.

        Args:
            expected: US dollars per call; None for the cost of the most expensive call so far.
        """
        room = float("inf")
        if self.budget.calls is not None:
            room = self.budget.calls - self.calls - self.under_way
        if self.budget.money is not None:
            each = self.largest if expected is None else expected
            left = self.budget.money - self.money
            if each > 0:
                room = min(room, left // each - self.under_way)
            elif left <= 0:
                room = min(room, 0)
        return max(room, 0)

    def book_reply(self, cost: float, reply: Reply | None) -> None:
        """Record a finished attempt, with its answer if there is one."""
        self.book(cost, answered=reply is not None, is_estimate=bool(reply and reply.is_estimate))

    def book(self, cost: float, *, answered: bool, is_estimate: bool = False) -> None:
        """Record a finished attempt."""
        self.calls += 1
        self.answers += answered
        self.money += cost
        self.largest = max(self.largest, cost)
        self.is_estimate |= is_estimate

    def cost(self) -> str:
        """Return the spending as text."""
        return prices.spent(self.money, is_estimate=self.is_estimate)

    def spent(self) -> str:
        """Return the reason for pausing the run."""
        return (
            f"Paused at the budget: {self.calls:,} {'call' if self.calls == 1 else 'calls'} for "
            f"{self.cost()} so far; raise the budget to continue."
        )


def read_ledger(engine: Engine, run_id: int, budget: Budget) -> Ledger:
    """Compute the ledger of a run from its stored answers."""
    with reading(engine) as session:
        calls, answers, money, largest, estimates = session.execute(
            select(
                func.count(),
                # An attempt has only ended once its answer is stored.
                func.count(func.nullif(col(Answer.finish_reason), "")),
                func.coalesce(func.sum(not_null(col(Answer.cost))), 0.0),
                func.coalesce(func.max(not_null(col(Answer.cost))), 0.0),
                func.count(case((col(Answer.is_estimate), 1))),
            ).where(col(Answer.run_id) == run_id)
        ).one()
    return Ledger(
        budget,
        calls=calls,
        answers=answers,
        money=money,
        largest=largest,
        is_estimate=estimates > 0,
    )
