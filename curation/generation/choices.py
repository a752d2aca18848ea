"""Trials of a request, and changing the budget of a stopped run."""

from typing import Any

from pydantic import ValidationError
from sqlalchemy import update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.estimate import TRIAL
from curation.generation.prices import price_of
from curation.generation.request import Budget, GenerationRequest, Price
from db.errors import HedgerowError
from db.models import Run
from db.runs import STOPPED, get_run

CHAT = "chat"
"""The kind of model, among those for benchmarks, that costs money."""


def trial_of(request: GenerationRequest) -> GenerationRequest:
    """The same request for three anchors, to check before the full run."""
    selection = request.selection
    limit = min(TRIAL, selection.limit or TRIAL)
    return request.model_copy(
        update={
            "selection": selection.model_copy(update={"limit": limit}),
            "batch": False,
            "measure": False,
        }
    )


def is_trial(run: Run) -> bool:
    """Whether a run has at most as many anchors as a trial."""
    return int(run.parameters["selection"]["limit"] or TRIAL + 1) <= TRIAL


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
        if not name or model.get("architecture", CHAT) != CHAT or price != Price():
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
