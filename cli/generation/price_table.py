"""Show the price table and set prices."""

from typing import Annotated

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import AsJson, show
from curation.generation.costs.prices import DATED, own_prices, prices, set_price
from curation.generation.request import Price
from db.engine import reading, writing

Model = Annotated[str, typer.Argument(help="The model's name on the server.")]


def prices_list(as_json: AsJson = False) -> None:
    """List all known prices, in US dollars per million tokens."""
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
    prompt: Annotated[
        float, typer.Argument(metavar="IN", min=0, help="Price per million input tokens.")
    ],
    completion: Annotated[
        float, typer.Argument(metavar="OUT", min=0, help="Price per million output tokens.")
    ],
    as_json: AsJson = False,
) -> None:
    """Set the price of a model, in US dollars per million tokens."""
    _, engine = open_home()
    price = Price(prompt=prompt, completion=completion)
    with writing(engine) as session:
        set_price(session, model, price)
    result = {"model": model, **price.model_dump()}
    show(
        result,
        as_json,
        f"The price of {model} is ${prompt:g} per million input tokens and ${completion:g} per "
        "million output tokens.",
    )


def prices_forget(model: Model, as_json: AsJson = False) -> None:
    """Remove this project's price of a model; the built-in price applies again if there is one."""
    _, engine = open_home()
    with writing(engine) as session:
        set_price(session, model, None)
    show({"model": model}, as_json, f"This project has not set a price for {model}.")
