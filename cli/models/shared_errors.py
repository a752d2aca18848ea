"""Items that several models get wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.shared.home import open_home
from cli.shared.tables import table_of
from cli.shared.terminal import LARGEST_NUMBER, AsJson, show
from db.engine import reading
from db.errors import HedgerowError
from training.benchmarks.catalogue import benchmark
from training.benchmarks.results.common_errors import CommonErrors, common_errors
from training.benchmarks.results.queries import NEGATION, Scored, by_column, full_result, newest

SHOWN = 20
"""Maximum number of items and parts shown to people; --json has all."""


def errors(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The benchmark.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only these models, by their names in 'hedgerow benchmarks'."
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_NUMBER,
            help="Smallest number of models that are wrong. Default: all of them.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the items of a benchmark that all or most models get wrong."""
    title = benchmark(name).title
    settings, engine = open_home()
    with reading(engine) as session:
        rows = _of_newest_data(newest(session, kind=NEGATION, benchmark=name))
    chosen = [
        row for row in rows if not model or {row.model, row.title, row.full_title} & set(model)
    ]
    results = {
        row.full_title if as_json else row.title: full_result(settings.data_folder, row)
        for row in chosen
    }
    found = common_errors(results, least=at_least)
    data = chosen[0].data
    summary = (
        f"{len(found.errors):,} of {found.items:,} items of {title} ({data}) are wrong in at "
        f"least {found.least} of {len(found.models)} models: {', '.join(found.models)}."
    )
    show(_facts(name, data, found), as_json, summary, *_tables(found), *_more(found))


def _more(found: CommonErrors) -> list[str]:
    """A sentence that the tables are shortened, if they are."""
    longest = max(len(found.errors), len(found.parts))
    return [f"The tables show the first {SHOWN}; --json has all."] if longest > SHOWN else []


def _of_newest_data(rows: list[Scored]) -> list[Scored]:
    """The results on the data most recently measured with two models.

    Raises:
        HedgerowError: there are none.
    """
    kept = [row for row in rows if row.file]
    for column in dict.fromkeys(row.column for row in kept):
        if len(found := by_column(kept, column)) > 1:
            return list(found.values())
    raise HedgerowError(
        "Expected results of at least two models on the same items, found none; run 'hedgerow "
        "benchmark' with another model."
    )


def _facts(name: str, data: str, found: CommonErrors) -> dict[str, Any]:
    return {
        "benchmark": name,
        "data": data,
        "models": list(found.models),
        "items": found.items,
        "at_least": found.least,
        "by_count": list(found.by_count),
        "errors": [
            {"item": error.row.key, "wrong": list(error.wrong), "texts": dict(error.row.texts)}
            for error in found.errors
        ],
        "parts": [part._asdict() for part in found.parts],
    }


def _tables(found: CommonErrors) -> list[Any]:
    if not found.errors:
        return []
    parts = ((part.part, part.errors, part.items) for part in found.parts[:SHOWN])
    items = (
        (error.row.key, len(error.wrong), next(iter(error.row.texts.values()), ""))
        for error in found.errors[:SHOWN]
    )
    tables = [table_of("item", "models wrong", "text", rows=items)]
    return tables + ([table_of("part", "errors", "items", rows=parts)] if found.parts else [])
