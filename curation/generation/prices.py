"""Prices of models: a dated table that ships with Hedgerow, and the project's own prices."""

import json
from collections.abc import Collection, Mapping
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.generation.request import Price
from curation.project.settings import PRICES, get_setting, put_setting
from db.errors import HedgerowError

_FILE = Path(__file__).with_name("prices.json")
_TABLE: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))

DATED: str = _TABLE["dated"]
"""Month of the bundled prices."""

LARGEST_PRICE = 1_000_000
"""In US dollars per million tokens; far more than any model costs."""

CENT = 0.01
"""In US dollars."""


def dollars(amount: float) -> str:
    """Format an amount; below a cent, with enough digits to show that it is not zero."""
    if 0 < amount < CENT:
        return f"${amount:.{max(4, 1 - floor(log10(amount)))}f}"
    return f"${amount:,.2f}"


def spent(amount: float, *, is_estimate: bool) -> str:
    """Format the cost of calls, and say if token counts are estimates."""
    if not (is_estimate and amount):
        return dollars(amount)
    return f"about {dollars(amount)} (estimated: the server reports no usable token counts)"


def spent_by(result: Mapping[str, Any]) -> str:
    """Format the cost of a run from its result.

    Results of older versions don't say whether the cost is an estimate.
    """
    return spent(result.get("cost", 0.0), is_estimate=result.get("cost_is_estimate", False))


def prices(session: Session) -> dict[str, Price]:
    """US dollars per million tokens by model. The project's own prices replace the bundled ones."""
    bundled = {name: Price(**value) for name, value in _TABLE["models"].items()}
    return bundled | own_prices(session)


def own_prices(session: Session) -> dict[str, Price]:
    """Return the prices that were set in this project, by model."""
    own: dict[str, Any] = get_setting(session, PRICES)
    return {name: Price(**value) for name, value in own.items()}


def price_of(session: Session, model: str) -> Price | None:
    """The price of a direct call to a model; None if unknown.

    A dated name ('gpt-4o-mini-2024-07-18') has the price of its family.
    """
    known = prices(session)
    return known.get(_family(model, known))


def training_price_of(model: str) -> float | None:
    """Return the provider's price for finetuning a model, in US dollars per million tokens.

    Every epoch counts. None if unknown.
    """
    known: Mapping[str, float] = _TABLE["training"]
    return known.get(_family(model, known))


def _family(model: str, known: Collection[str]) -> str:
    """The model, or the family of a dated model; '' if neither is known."""
    names = [name for name in known if model == name or model.startswith(f"{name}-20")]
    return max(names, key=len, default="")


class Quote(NamedTuple):
    """A model's price; None if unknown.

    Attributes:
        own: whether it was set in this project.
    """

    price: Price | None
    own: bool


def quote(session: Session, model: str) -> Quote:
    """Return the price of a direct call to a model, and where the price comes from."""
    return Quote(price_of(session, model), model in own_prices(session))


def price_under(session: Session, model: str, cap: float | None) -> Price:
    """Return the price of a model's calls in a run with this cap; 0 if unknown.

    Args:
        cap: in US dollars; None for no cap.

    Raises:
        HedgerowError: there is a spending cap, but the model's price is unknown.
    """
    price = price_of(session, model)
    if price is None and cap is not None:
        raise HedgerowError(
            f"A spending cap needs a price, but the price of '{model}' is unknown; set it with "
            "'hedgerow prices set' or in Settings, or cap the number of calls instead."
        )
    return price or Price()


def set_price(session: Session, model: str, price: Price | None) -> None:
    """Store the project's price of a model; None removes it.

    Raises:
        HedgerowError: the model's name or the price is not valid.
    """
    for amount in (price.prompt, price.completion) if price else ():
        if not 0 <= amount <= LARGEST_PRICE:  # also excludes NaN
            raise HedgerowError(
                f"Expected US dollars from 0 to {LARGEST_PRICE:,} per million tokens, found "
                f"{amount:g}."
            )
    name = model.strip()
    if price is not None and not name.isprintable():
        raise HedgerowError(
            "Expected a model name of letters, digits and signs, found invisible characters; "
            "type the name by hand."
        )
    if not name or len(name) > 200:
        raise HedgerowError(
            f"Expected a model name of 1 to 200 characters, found {len(name)}; enter the "
            "provider's name of the model."
        )
    own = dict(get_setting(session, PRICES))
    if price is None:
        own.pop(name, None)
    else:
        own[name] = price.model_dump()
    put_setting(session, PRICES, own)
