"""A run's spending against its budget, whether it allows the next call, and costs by type."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import Engine, case, func, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.prices import price_of, spent
from curation.generation.providers.chat.completions import Reply
from curation.generation.request import KIND, Budget, Price
from db.columns import not_null
from db.engine import reading
from db.errors import HedgerowError
from db.models import Answer, ModelCall, PromptVersion, Run, Status, Variant
from db.runs import STOPPED, get_run


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
        return spent(self.money, is_estimate=self.is_estimate)

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


_CHAT = "chat"
"""The kind of model, among those for benchmarks, that costs money."""


def raise_budget(
    session: Session, run_id: int, *, money: float | None = None, calls: int | None = None
) -> None:
    """Change the spending cap or the cap on calls of a stopped run; None keeps a cap.

    Raises:
        HedgerowError: as in ``change_budget``; or a cap is not a positive number, or is in money
            although the run's model has no price.
    """
    caps = {"money": money, "calls": calls}
    given = {name: cap for name, cap in caps.items() if cap is not None}
    parameters = get_run(session, run_id).parameters
    if money is not None:
        _require_prices(session, run_id, parameters)
    stored = parameters.get("budget", {})
    try:
        budget = Budget.model_validate({**stored, **given})
    except ValidationError as error:
        raise HedgerowError(
            f"Expected caps above 0, found {', '.join(f'{cap:g}' for cap in given.values())}."
        ) from error
    change_budget(session, run_id, budget)


def _require_prices(session: Session, run_id: int, parameters: dict[str, Any]) -> None:
    """Refuse a spending cap for a run without a price, since a run keeps its initial price."""
    asked = parameters.get("models") or [parameters | {"name": parameters.get("model")}]
    for model in asked:
        name, price = model["name"], Price(**model.get("price", {}))
        if not name or model.get("architecture", _CHAT) != _CHAT or price != Price():
            continue
        if price_of(session, name) != Price():  # 0 is a valid price if somebody has set it
            raise HedgerowError(
                f"A spending cap needs a price, but run {run_id} was started without a price for "
                f"'{name}'; cap the number of calls instead."
            )


def change_budget(session: Session, run_id: int, budget: Budget) -> None:
    """Change the budget of a paused run; nothing else changes.

    Raises:
        HedgerowError: the run is in progress or done, or calls no model.
    """
    run = get_run(session, run_id)
    if "budget" not in run.parameters or run.state not in STOPPED:
        raise HedgerowError(
            f"Expected a paused run that calls a model, found run {run_id} ({run.state}); pause "
            "it first."
        )
    parameters = run.parameters | {"budget": budget.model_dump(mode="json")}
    session.execute(update(Run).where(col(Run.id) == run_id).values(parameters=parameters))


# -- Costs per variant and per accepted variant, by prompt version, model and type ----------------
#
# The cost of a call, including failed attempts, is divided equally among the types it asked for.


class CostRow(NamedTuple):
    """The cost of one type with one prompt version and model.

    Attributes:
        cost: US dollars, the type's share.
        variants: stored variants, in any state.
        accepted: variants accepted as written or after an edit.
        is_estimate: whether some costs are estimates because a server reported no tokens.
    """

    prompt: str
    version: int
    provider: str
    model: str
    type_id: str
    calls: int
    cost: float
    variants: int
    accepted: int
    is_estimate: bool = False

    @property
    def per_variant(self) -> float | None:
        """US dollars per variant; None if there are no variants."""
        return self.cost / self.variants if self.variants else None

    @property
    def per_accepted(self) -> float | None:
        """US dollars per accepted variant; None if there are none."""
        return self.cost / self.accepted if self.accepted else None


_Key = tuple[int, int, str]


def cost_rows(session: Session, *, run_id: int | None = None) -> list[CostRow]:
    """One row for each prompt version, model and type, of one run or of all."""
    models = {
        number: (parameters.get("provider", ""), parameters.get("model", ""))
        for number, parameters in session.execute(
            select(col(Run.id), col(Run.parameters)).where(col(Run.kind) == KIND)
        )
    }
    spent, calls, estimated = _spent(session, run_id)
    made, kept = _variants(session, run_id)
    names = {row.id: row for row in session.execute(select(PromptVersion)).scalars()}
    rows: dict[tuple[int, tuple[str, str], str], CostRow] = {}
    for key in dict.fromkeys([*spent, *made]):
        run, prompt_id, type_id = key
        origin = models.get(run)
        if origin is None or prompt_id not in names:
            continue
        prompt = names[prompt_id]
        group = (prompt_id, origin, type_id)
        old = rows.get(group)
        rows[group] = CostRow(
            prompt.name,
            prompt.version,
            *origin,
            type_id,
            calls=(old.calls if old else 0) + calls[key],
            cost=(old.cost if old else 0.0) + spent[key],
            variants=(old.variants if old else 0) + made[key],
            accepted=(old.accepted if old else 0) + kept[key],
            is_estimate=(old is not None and old.is_estimate) or key in estimated,
        )
    return [rows[key] for key in sorted(rows)]


def _spent(
    session: Session, run_id: int | None
) -> tuple[defaultdict[_Key, float], defaultdict[_Key, int], set[_Key]]:
    """Return the share of the cost, the number of calls, and whether some costs are estimates.

    The result is by run, prompt and type. The database sums calls that ask for the same types.
    """
    asked = col(ModelCall.type_ids)
    query = select(
        col(ModelCall.run_id),
        col(ModelCall.prompt_version_id),
        asked,
        func.count(col(ModelCall.id).distinct()),
        func.coalesce(func.sum(not_null(col(Answer.cost))), 0.0),
        func.count(case((col(Answer.is_estimate), 1))),
    ).join(Answer, col(Answer.call_id) == ModelCall.id)
    if run_id is not None:
        query = query.where(col(ModelCall.run_id) == run_id)
    query = query.group_by(col(ModelCall.run_id), col(ModelCall.prompt_version_id), asked)
    spent: defaultdict[_Key, float] = defaultdict(float)
    calls: defaultdict[_Key, int] = defaultdict(int)
    estimated: set[_Key] = set()
    for run, prompt_id, type_ids, number, cost, estimates in session.execute(query):
        for type_id in type_ids:
            spent[(run, prompt_id, type_id)] += cost / len(type_ids)
            calls[(run, prompt_id, type_id)] += number
            if estimates and cost:
                estimated.add((run, prompt_id, type_id))
    return spent, calls, estimated


def _variants(
    session: Session, run_id: int | None
) -> tuple[defaultdict[_Key, int], defaultdict[_Key, int]]:
    """Count the stored and the accepted variants by run, prompt and type."""
    query = select(
        not_null(col(Variant.run_id)),
        not_null(col(Variant.prompt_version_id)),
        col(Variant.type_id),
        col(Variant.status),
        func.count(),
    ).where(col(Variant.prompt_version_id).is_not(None))
    if run_id is not None:
        query = query.where(col(Variant.run_id) == run_id)
    query = query.group_by(
        col(Variant.run_id),
        col(Variant.prompt_version_id),
        col(Variant.type_id),
        col(Variant.status),
    )
    made: defaultdict[_Key, int] = defaultdict(int)
    kept: defaultdict[_Key, int] = defaultdict(int)
    for run, prompt_id, type_id, status, number in session.execute(query):
        key = (run, prompt_id, type_id)
        made[key] += number
        if status in (Status.ACCEPTED, Status.SUPERSEDED):
            kept[key] += number
    return made, kept
