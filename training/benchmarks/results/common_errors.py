"""Errors that several models share: the items that most of them get wrong (SemAntoNeg, §6)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from db.errors import HedgerowError
from training.benchmarks.definition import ItemResult, Result


class SharedError(NamedTuple):
    """An item that several models get wrong.

    Attributes:
        row: the result of one of the models.
        wrong: labels of the models that get it wrong, in the order of the input.
    """

    row: ItemResult
    wrong: tuple[str, ...]


class PartCount(NamedTuple):
    """The numbers of shared errors and of items in a part of a breakdown."""

    breakdown: str
    part: str
    errors: int
    items: int


class CommonErrors(NamedTuple):
    """The errors that several models share.

    Attributes:
        models: their labels.
        items: the number of items that all of them were measured on.
        by_count: for each number of models from 0 on, the number of items that exactly this many
            get wrong.
        errors: the items that at least ``least`` models get wrong, most models first.
        parts: of breakdowns (antonym pairs) among the errors, those with most errors first.
    """

    models: tuple[str, ...]
    items: int
    least: int
    by_count: tuple[int, ...]
    errors: tuple[SharedError, ...]
    parts: tuple[PartCount, ...]


def common_errors(results: Mapping[str, Result], *, least: int | None = None) -> CommonErrors:
    """The items that several models get wrong. Ties and missing answers count as wrong.

    Args:
        results: the results by model label, all of the same benchmark and data.
        least: the minimum number of models that get an item wrong; None means all of them.

    Raises:
        HedgerowError: there are fewer than two models, the results have no right and wrong, or
            ``least`` is out of range.
    """
    if len(results) < 2:
        raise HedgerowError(
            f"Expected results of at least two models on the same items, found {len(results)}; "
            "run the benchmark with another model."
        )
    if any(result.kind != "share" for result in results.values()):
        raise HedgerowError(
            "Expected a benchmark with right and wrong items, found one that measures a "
            "correlation; choose another one."
        )
    least = len(results) if least is None else least
    if not 1 <= least <= len(results):
        raise HedgerowError(f"Expected a number of models from 1 to {len(results)}, found {least}.")
    wrong = {label: _wrong(result) for label, result in results.items()}
    first = next(iter(results.values()))
    shared = [
        SharedError(row, tuple(label for label, keys in wrong.items() if row.key in keys))
        for row in first.rows
    ]
    counts = Counter(len(error.wrong) for error in shared)
    errors = [error for error in shared if len(error.wrong) >= least]
    return CommonErrors(
        tuple(results),
        len(shared),
        least,
        tuple(counts[number] for number in range(len(results) + 1)),
        tuple(sorted(errors, key=lambda error: -len(error.wrong))),
        tuple(_parts(errors, shared)),
    )


def _wrong(result: Result) -> set[str]:
    return {row.key for row in result.rows if not row.right}


def _parts(errors: Sequence[SharedError], every: Sequence[SharedError]) -> list[PartCount]:
    items = _counted(every)
    found = _counted(errors).most_common()
    return [PartCount(*part, number, items[part]) for part, number in found]


def _counted(found: Sequence[SharedError]) -> Counter[tuple[str, str]]:
    """The number of items in each part."""
    parts = ({(mark.breakdown, mark.value) for mark in error.row.marks} for error in found)
    return Counter(part for of_item in parts for part in of_item)


def error_table(found: CommonErrors) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The errors as a table's header and rows: item, number of models, models, parts, texts."""
    names = list(dict.fromkeys(name for error in found.errors for name in error.row.texts))
    head = ["item", "wrong", "of", "models", "parts", *names]
    return head, [
        (
            error.row.key,
            len(error.wrong),
            len(found.models),
            ", ".join(error.wrong),
            ", ".join(dict.fromkeys(mark.value for mark in error.row.marks)),
            *(error.row.texts.get(name, "") for name in names),
        )
        for error in found.errors
    ]
