"""The table of results, like HedgeTriple's Table 1: columns, lines, averages, and the scatter."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from training.benchmarks.catalogue import NEGATION_AVERAGE, all_benchmarks
from training.benchmarks.harness_names import KNOWN, LM_EVAL, TABLE_3, title_of
from training.benchmarks.results.paper_tables import (
    GENERAL,
    LANGUAGE,
    NEGATION,
    Line,
    PerItem,
    Published,
    published,
)
from training.benchmarks.results.queries import ModelKey, Scored
from training.benchmarks.runs.jobs import NEGATION as NEGATION_KIND
from training.benchmarks.tasks.general import SUITES, TaskScore, average

NEGATION_COLUMN = "average:negation"
"""The mean of the four benchmarks of HedgeTriple's Table 1."""


def general_column(suite: str) -> str:
    """The column of a suite's average: over the kinds of mteb tasks, or over Table 3's tasks."""
    return f"average:{suite}"


class ScoreColumn(NamedTuple):
    """A column of the table.

    Attributes:
        key: as in ``Scored.column``; of an average as above.
        title: for people.
        data: the source of the items; '' for an average.
        n: the number of items; 0 for averages and mteb tasks.
        kind: 'negation' or 'general'.
        benchmark: its id, the id of an lm_eval task, or mteb's name of a task; '' for an average.
        chance: score of random guessing, in points; None if it is undefined.
    """

    key: str
    title: str
    data: str
    n: int
    kind: str
    metric: str
    benchmark: str
    chance: float | None


def columns(rows: Sequence[Scored], *, tasks: bool = False) -> list[ScoreColumn]:
    """The columns of these results: benchmarks, lm_eval tasks, averages, mteb tasks.

    Benchmarks have the catalogue's order. Of several data sets, the one with most items is first.

    Args:
        tasks: whether every mteb task gets its own column.
    """
    found = {row.column: row for row in reversed(rows)}
    negation = [_column(row) for row in found.values() if row.kind == NEGATION_KIND]
    order = {entry.id: number for number, entry in enumerate(all_benchmarks())}
    negation.sort(key=lambda column: (order.get(column.benchmark, len(order)), -column.n))
    general = [_column(row) for row in found.values() if row.kind != NEGATION_KIND]
    general.sort(key=lambda column: column.title)
    language = [column for column in general if column.benchmark.startswith(LM_EVAL)]
    language.sort(key=lambda column: (_known_place(column.benchmark), -column.n))
    filled = {key for line in _averages(rows).values() for key in line}
    averages = [column for column in _AVERAGES if column.key in filled]
    return [
        *negation,
        *(column for column in averages if column.kind == NEGATION_KIND),
        *language,
        *(column for column in averages if column.kind != NEGATION_KIND),
        *(column for column in general if tasks and column not in language),
    ]


def _known_place(benchmark: str) -> int:
    """The position of an lm_eval task in the paper's table; the user's own tasks come last."""
    known = [f"{LM_EVAL}{name}" for name in KNOWN]
    return known.index(benchmark) if benchmark in known else len(known)


def lines(rows: Sequence[Scored], *, trained_from: Mapping[ModelKey, ModelKey]) -> list[Line]:
    """One line per model, the newest result first, then the published lines.

    Args:
        rows: the result of `newest`.
        trained_from: the result of `bases`: the models that the differences refer to.
    """
    averages = _averages(rows)
    titles = {row.model_key: row.title for row in rows}
    by_model = _by_model(rows)
    made = []
    for key, title in titles.items():
        own = by_model[key][::-1]
        made.append(
            Line(
                title,
                {row.column: row.score for row in own} | averages[key],
                intervals={row.column: row.interval for row in own if row.interval},
                base=titles.get(trained_from.get(key, key), "") if key in trained_from else "",
                kind=key[1],
                name=key[0],
                spent={row.column: spent for row in own if (spent := spent_on(row))},
            )
        )
    return made + _reference(columns(rows))


def unlike_published(lines: Sequence[Line], columns: Sequence[ScoreColumn]) -> list[str]:
    """Titles of the columns with published numbers whose data may differ from the papers'.

    Data counts as the published one if it has the same number of items.
    """
    filled = {key for line in lines if line.published for key in line.scores}
    sizes = {entry.id: entry.published_items for entry in all_benchmarks()}
    sizes |= {f"{LM_EVAL}{task.name}": task.items for task in KNOWN.values()}
    unlike = [
        column.title
        for column in columns
        if column.key in filled
        and column.benchmark in sizes
        and column.n != (sizes[column.benchmark] or -1)
    ]
    return list(dict.fromkeys(unlike))


class ModelPoint(NamedTuple):
    """A point of the scatter chart: a model's negation score and its general ability.

    Attributes:
        negation: mean over the chosen benchmarks, in points.
        general: a suite's average, in points.
    """

    model: str
    negation: float
    general: float
    published: bool


def points(lines: Sequence[Line], *, negation: Sequence[str], general: str) -> list[ModelPoint]:
    """The models with a score in all of these columns.

    Args:
        negation: keys of columns, or `NEGATION_COLUMN` alone; the mean over them is shown.
        general: key of a column.
    """
    found = []
    for line in lines:
        scores = [line.scores[key] for key in negation if key in line.scores]
        if negation and len(scores) == len(negation) and general in line.scores:
            mean = sum(scores) / len(scores)
            found.append(ModelPoint(line.model, mean, line.scores[general], line.published))
    return found


def _column(row: Scored) -> ScoreColumn:
    entry = next((entry for entry in all_benchmarks() if entry.id == row.benchmark), None)
    return ScoreColumn(
        row.column,
        entry.title if entry else title_of(row.benchmark) or row.benchmark,
        row.data,
        row.n,
        row.kind,
        row.metric,
        row.benchmark,
        entry.chance if entry else None,
    )


_AVERAGES = (
    ScoreColumn(NEGATION_COLUMN, "Negation average", "", 0, "negation", "mean", "", None),
    *(
        ScoreColumn(general_column(name), f"General, {name}", "", 0, "general", "mean", "", None)
        for name in SUITES
    ),
    ScoreColumn(general_column(TABLE_3), "General, Table 3", "", 0, "general", "mean", "", None),
)


def _averages(rows: Sequence[Scored]) -> dict[ModelKey, dict[str, float]]:
    """The averages of each model: negation on the largest data, and complete suites."""
    largest = _largest(rows)
    found: dict[ModelKey, dict[str, float]] = {}
    for key, own in _by_model(rows).items():
        averages = found[key] = {}
        four = [row.score for row in own if row.column in largest]
        if len(four) == len(NEGATION_AVERAGE):
            averages[NEGATION_COLUMN] = sum(four) / len(four)
        tasks = {row.benchmark: row for row in reversed(own) if row.kind != NEGATION_KIND}
        for name, suite in SUITES.items():
            if tasks.keys() >= set(suite):
                scores = [
                    TaskScore(task, str(tasks[task].summary["type"]), tasks[task].score)
                    for task in suite
                ]
                averages[general_column(name)] = average(scores) or 0.0
        if all(f"{LM_EVAL}{name}" in tasks for name in KNOWN):
            three = [tasks[f"{LM_EVAL}{name}"].score for name in KNOWN]
            averages[general_column(TABLE_3)] = sum(three) / len(three)
    return found


def _by_model(rows: Sequence[Scored]) -> dict[ModelKey, list[Scored]]:
    found: dict[ModelKey, list[Scored]] = {}
    for row in rows:
        found.setdefault(row.model_key, []).append(row)
    return found


def _largest(rows: Sequence[Scored]) -> set[str]:
    """The columns of the four averaged benchmarks with the most items."""
    found: dict[str, Scored] = {}
    for row in rows:
        if row.benchmark in NEGATION_AVERAGE and (
            row.benchmark not in found or row.n > found[row.benchmark].n
        ):
            found[row.benchmark] = row
    return {row.column for row in found.values()}


def _reference(shown: Sequence[ScoreColumn]) -> list[Line]:
    """The published lines with a score in one of these columns, with the largest data of each."""
    places: dict[str, str] = {}
    for column in shown:
        places.setdefault(column.benchmark or column.key, column.key)
    found: dict[tuple[str, ...], list[Line]] = {}
    for (paper, name, title, model, kind), scores in _by_table(places).items():
        own = found.setdefault((paper, name, kind), [])
        at = next((n for n, line in enumerate(own) if _agree(line.scores, scores)), None)
        if at is None:
            source = f"{_short(paper)}, {title}"
            own.append(Line(model, scores, published=True, source=source, kind=kind))
        else:
            own[at] = replace(own[at], scores={**scores, **own[at].scores})
    return [line for own in found.values() for line in own]


def _by_table(places: Mapping[str, str]) -> dict[tuple[str, ...], dict[str, float]]:
    """The scores of each paper, model, table, name and kind by column."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for number in published():
        if place := places.get(_benchmark_of(number)):
            name = number.hub or number.model
            key = (number.paper, name, number.title, number.model, number.kind)
            found.setdefault(key, {}).setdefault(place, number.score)
    return found


def _agree(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two lines may be the same model: some tables use one name for different models."""
    return all(one[key] == other[key] for key in one.keys() & other.keys())


def _short(paper: str) -> str:
    """The short name of a paper: the beginning or the end of its title."""
    _, opened, last = paper.rstrip(")").rpartition("(")
    return last if opened else paper.partition(":")[0]


def _benchmark_of(number: Published) -> str:
    if number.benchmark == NEGATION:
        return NEGATION_COLUMN
    if number.benchmark == GENERAL and number.suite:
        return general_column(number.suite)
    if number.benchmark == LANGUAGE:
        return general_column(TABLE_3)
    return number.benchmark


# -- spending -------------------------------------------------------------------------------------
#
# Optional columns of the table: a model's architecture, and its time and cost per item.


KIND, SECONDS, COST = DETAILS = ("Kind", "Seconds per item", "US dollars per item")
"""Titles of these columns."""

NOTHING = "–"


def spent_on(row: Scored) -> PerItem | None:
    """Time and cost per item of a result; None for mteb tasks, which do not count items."""
    if not row.n:
        return None
    seconds = row.summary.get("seconds", row.summary.get("took", {}).get("seconds"))
    cost = row.summary.get("cost")
    return PerItem(*(None if value is None else value / row.n for value in (seconds, cost)))


def per_item(line: Line, columns: Iterable[str]) -> PerItem:
    """Time and cost per item of a model: the mean over these columns."""
    found = [line.spent[key] for key in columns if key in line.spent]
    return PerItem(_mean([one.seconds for one in found]), _mean([one.cost for one in found]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def details(line: Line, names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The cells of a line in these columns, as displayed.

    Args:
        names: a selection of `DETAILS`.
        columns: the keys of the columns with scores.
    """
    spent = per_item(line, columns)
    cells = {KIND: line.kind or NOTHING, SECONDS: shown(spent.seconds), COST: shown(spent.cost)}
    return [cells[name] for name in names]


def shown(value: float | None) -> str:
    """A number with at least two significant digits, such as 12.3, 0.45 and 0.00012."""
    if value is None:
        return NOTHING
    if value <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(value))
    return f"{value:,.{min(max(decimals, 1), 9)}f}"
