"""Errors of models in a benchmark: outcomes of its items, and scores of its parts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from pages.components.benchmarks import outcome_charts
from pages.components.benchmarks.names import BREAKDOWNS, RIGHT_OUTCOME, SAID, outcome
from pages.components.shared.charts import plot, shares
from pages.components.shared.shell import open_project
from training.benchmarks.definition import Benchmark, PartScore, Result
from training.benchmarks.results.queries import Scored
from training.benchmarks.results.single_items import grades
from training.benchmarks.tasks.own_families import NEGATIVE, PAIRS, POSITIVE

MOST_PARTS = 12
"""Most parts of a breakdown in the chart; the table has all."""

COMPARED = 2
"""Most models side by side if each has several bars."""


class BenchmarkSide(NamedTuple):
    """A model's result in the benchmark: as stored, and with its items."""

    row: Scored
    result: Result


def show(
    benchmark: type[Benchmark[Any]],
    every: Sequence[Scored],
    *,
    chosen: Sequence[BenchmarkSide],
) -> None:
    """Draw the outcomes of all models, and the parts of the chosen ones.

    Args:
        every: all results on the same items.
        chosen: one or two of them.
    """
    if benchmark.kind == "share":
        _outcomes(benchmark, every)
    else:
        _grades(chosen)
    if said := SAID.get(benchmark.id):
        st.caption(said)
    for name in chosen[0].result.breakdowns:
        if name == PAIRS:
            _pairs(chosen[0])
        else:
            _breakdown(name, chosen)
    _figures(every)


def _outcomes(benchmark: type[Benchmark[Any]], every: Sequence[Scored]) -> None:
    parts = [
        share._replace(outcome=outcome(share.outcome))
        for one in every
        for share in outcome_charts.shares_of(one.title, one.summary["outcomes"])
    ]
    right = RIGHT_OUTCOME.get(benchmark.id, next(iter(benchmark.outcomes), ""))
    plot.chart_to_save(
        partial(
            outcome_charts.outcomes,
            parts,
            order=[outcome(o) for o in benchmark.outcomes],
            right=outcome(right),
        ),
        name=f"outcomes-{benchmark.id}",
        alt_text=f"Outcomes of the items of {benchmark.title}, by model",
    )


def _grades(chosen: Sequence[BenchmarkSide]) -> None:
    boxes = [
        outcome_charts.Box(grade.name, side.row.title, grade.n, *grade.quantiles)
        for side in chosen[:COMPARED]
        for grade in grades(side.result)
    ]
    if boxes:
        plot.chart_to_save(
            partial(outcome_charts.boxes, boxes),
            name="grades",
            alt_text="Ranks of the pairs by human judgement, by model",
        )


def _breakdown(name: str, chosen: Sequence[BenchmarkSide]) -> None:
    """Scores by the parts of a breakdown: the largest parts as bars, all of them in a table."""
    st.header(BREAKDOWNS.get(name, name), anchor=False)
    names = _part_names(name)
    largest = sorted(chosen[0].result.breakdowns[name].items(), key=lambda part: -part[1].n)
    bars = [
        outcome_charts.PartBar(names(value), side.row.title, part.score, part.n)
        for value, _ in largest[:MOST_PARTS]
        for side in chosen[:COMPARED]
        if (part := side.result.breakdowns.get(name, {}).get(value)) is not None
    ]
    key = name.replace(" ", "-")
    plot.chart_to_save(
        partial(outcome_charts.parts, bars),
        name=f"parts-{key}",
        alt_text="Scores by the parts of a breakdown, by model",
    )
    if len(largest) > MOST_PARTS:
        st.caption(f"The {MOST_PARTS} parts with the most items, out of {len(largest):,}.")
        with st.expander("All parts", icon=":material/table:", key=f"all-{key}"):
            rows = [value for value, _ in largest]
            st.dataframe(_table(name, rows, chosen, names), hide_index=True, key=f"table-{key}")


def _table(
    name: str, values: Sequence[str], chosen: Sequence[BenchmarkSide], names: Callable[[str], str]
) -> list[dict[str, object]]:
    parts = {side.row.title: side.result.breakdowns.get(name, {}) for side in chosen}
    first = parts[chosen[0].row.title]
    return [
        {"Part": names(value), "Items": first[value].n}
        | {
            label: round(found[value].score, 1) if value in found else None
            for label, found in parts.items()
        }
        for value in values
    ]


def _part_names(breakdown: str) -> Callable[[str], str]:
    """Labels of the parts: types get their own labels."""
    if breakdown not in (POSITIVE, NEGATIVE):
        return lambda value: value
    labels = open_project.type_names()
    return lambda value: labels.get(value, value)


def _pairs(side: BenchmarkSide) -> None:
    """Two types against each other, under the first model."""
    st.header("Two types against each other", anchor=False)
    labels = open_project.type_names()
    found = {
        tuple(value.split(">", 1)): part for value, part in side.result.breakdowns[PAIRS].items()
    }
    order = {type_id: number for number, type_id in enumerate(labels)}
    down, across = (
        sorted({pair[at] for pair in found}, key=lambda of: (order.get(of, len(order)), of))
        for at in (0, 1)
    )
    none = PartScore(0.0, 0)
    cells = [
        shares.HeatCell(labels.get(good, good), bad, round(part.score * part.n / 100), part.n)
        for good in down
        for bad in across
        for part in (found.get((good, bad), none),)
    ]
    plot.chart_to_save(
        partial(
            shares.heat_map,
            cells,
            columns={bad: labels.get(bad, bad) for bad in across},
            heading="Negative",
            of="Pairs",
            counted="Right",
        ),
        name="type-pairs",
        alt_text="Share of pairs of a positive and a negative variant in the correct order, by "
        "type",
    )
    st.text(
        f"{side.row.title}: share of pairs in which the positive (rows) is closer to the anchor "
        "than the negative (columns)."
    )


def _figures(every: Sequence[Scored]) -> None:
    """More numbers from the papers' error analyses, one row per model."""
    names = list(dict.fromkeys(name for one in every for name in one.summary["figures"]))
    if not names:
        return
    st.header("Mean similarity and standard deviation", anchor=False)
    st.dataframe(
        [
            {"Model": one.title}
            | {_figure(name): one.summary["figures"].get(name) for name in names}
            for one in every
        ],
        hide_index=True,
        key="benchmark-figures",
        placeholder="–",
        column_config={
            _figure(name): st.column_config.NumberColumn(format="%.3f") for name in names
        },
    )


def _figure(name: str) -> str:
    """A readable name of a figure: for the documents of a pair, or the pairs of a score."""
    of, _, spread = name.partition(":")
    if of == "documents":
        label = "The two documents"
    else:
        score = of.removeprefix("score ").replace("-", "−")
        label = f"Human score {'0' if score == '−0' else score}"
    return f"{label} (SD)" if spread else label
