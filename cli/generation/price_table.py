"""The price table on the command line: see it, and set what a provider charges."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.generation.costs.prices import DATED, own_prices, prices, set_price
from curation.generation.request import Price
from db.engine import reading, writing

Model = Annotated[str, typer.Argument(help="As the server calls it.")]


def prices_list(as_json: AsJson = False) -> None:
    """Name all known prices, in US dollars for a million tokens."""
    _, engine = open_home()
    with reading(engine) as session:
        known, own = prices(session), own_prices(session)
    rows = [
        {"model": name, **price.model_dump(), "from": "this project" if name in own else DATED}
        for name, price in known.items()
    ]
    table = table_of("model", "in", "out", "from", rows=(row.values() for row in rows))
    show({"currency": "USD", "per_tokens": 1_000_000, "prices": rows}, as_json, table)


def prices_set(
    model: Model,
    prompt: Annotated[float, typer.Argument(metavar="IN", min=0, help="For a million tokens in.")],
    completion: Annotated[
        float, typer.Argument(metavar="OUT", min=0, help="For a million tokens out.")
    ],
    as_json: AsJson = False,
) -> None:
    """Set what a model charges, in US dollars for a million tokens."""
    _, engine = open_home()
    price = Price(prompt=prompt, completion=completion)
    with writing(engine) as session:
        set_price(session, model, price)
    result = {"model": model, **price.model_dump()}
    show(
        result,
        as_json,
        f"A million tokens of {model} cost {prompt:g} $ in and {completion:g} $ out.",
    )


def prices_forget(model: Model, as_json: AsJson = False) -> None:
    """Take this project's price of a model back; the table's counts again, where it has one."""
    _, engine = open_home()
    with writing(engine) as session:
        set_price(session, model, None)
    show({"model": model}, as_json, f"This project has no price of its own for {model}.")
