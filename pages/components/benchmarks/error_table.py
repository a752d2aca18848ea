"""Single items of a benchmark: the ones that a model got wrong, with their texts and scores."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.benchmarks import error_outcomes, names, single_item
from pages.components.shared import tables
from pages.components.shared.charts import plot
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.definition import Benchmark, ItemResult
from training.benchmarks.results.single_items import (
    AGREEMENTS,
    ANY,
    BOTH,
    NEITHER,
    ONLY_FIRST,
    ONLY_SECOND,
    ItemFilter,
    ItemOutcomes,
    as_table,
    compared,
    items,
    nearest,
    token_matrix,
)
from training.benchmarks.scorers.late_interaction import LateInteraction
from training.benchmarks.tasks.own_families import PAIRS

PICKED = "item"
"""Name of the selected item's key in the URL."""

SHOWN = 200
"""Most items in the list; the file has all matches."""

MOST_PARTS = 300
"""Most parts of a breakdown to choose from."""

ALL = "All"

_AGREEMENTS = {
    ANY: "Any",
    ONLY_FIRST: "Only A",
    ONLY_SECOND: "Only B",
    BOTH: "Both",
    NEITHER: "Neither",
}


def draw(
    benchmark: type[Benchmark[Any]], sides: Sequence[error_outcomes.BenchmarkSide], *, key: str
) -> None:
    """The filters, the list, and the selected item.

    Args:
        sides: one or two; the outcome filter is about the first.
        key: identifies the results.
    """
    st.header("Items", anchor=False)
    first, second = sides[0].result, sides[1].result if len(sides) > 1 else None
    wanted = _filters(benchmark, sides)
    found = items(first, second, wanted=wanted)
    _list(found, sides, key=f"{key}-{abs(hash(wanted))}")
    picked = next((i for i in found if i.first.key == st.query_params.get(PICKED)), None)
    if picked is not None:
        _item(picked, sides)
    elif found:
        st.caption("Select a row to see its texts and scores.")


def _filters(
    benchmark: type[Benchmark[Any]], sides: Sequence[error_outcomes.BenchmarkSide]
) -> ItemFilter:
    result = sides[0].result
    counts = {names.outcome(name): name for name, number in result.outcomes.items() if number}
    row = st.container(horizontal=True, vertical_alignment="bottom", key="bench-filters")
    chosen, agreement = ALL, ANY
    if benchmark.kind == "share":
        label = "Outcome for A" if len(sides) > 1 else "Outcome"
        chosen = row.selectbox(label, [ALL, *counts], key="bench-outcome")
        if len(sides) > 1:
            agreement = row.selectbox(
                "Right",
                list(AGREEMENTS),
                format_func=lambda name: _AGREEMENTS[name],
                key="bench-agreement",
                help="Which of the two models got an item right.",
            )
    part = _part(row, sides[0])
    text = row.text_input("Search", key="bench-search", placeholder="Part of a text")
    return ItemFilter(counts.get(chosen, ""), part, agreement, text.strip())


def _part(row: Any, side: error_outcomes.BenchmarkSide) -> tuple[str, str] | None:
    """One part of a breakdown."""
    labels = open_project.type_names()
    parts = [
        (breakdown, value)
        for breakdown, values in side.result.breakdowns.items()
        if breakdown in names.BREAKDOWNS and breakdown != PAIRS
        for value in values
    ][:MOST_PARTS]
    if not parts:
        return None
    chosen: tuple[str, str] | None = row.selectbox(
        "Part",
        parts,
        index=None,
        placeholder=ALL,
        key="bench-part",
        format_func=lambda part: labels.get(part[1], part[1]),
    )
    return chosen


def _list(
    found: Sequence[ItemOutcomes], sides: Sequence[error_outcomes.BenchmarkSide], *, key: str
) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        shown = f"; the list shows the first {SHOWN}" if len(found) > SHOWN else ""
        st.text(f"{counted(len(found), 'item')}{shown}.", width="content")
        tables.csv_button(
            lambda: as_table(found),
            "hedgerow-items",
            key="bench-items-csv",
            disabled=not found,
        )
    if not found:
        st.text("No item matches these filters.")
        return
    keys = [item.first.key for item in found[:SHOWN]]
    picked = [at for at, name in enumerate(keys) if name == st.query_params.get(PICKED)]
    widget = f"bench-items-{key}"
    number = st.column_config.NumberColumn(format="%.3f", width=90)
    st.dataframe(
        [_line(item) for item in found[:SHOWN]],
        hide_index=True,
        key=widget,
        selection_mode="single-row",
        on_select=lambda: _pick(widget, keys),
        placeholder="–",
        selection_default={"selection": {"rows": picked[:1], "columns": [], "cells": []}},
        column_config={"A": number, "B": number} if found[0].first.gold is not None else {},
        height="auto" if len(found) < 11 else 400,
    )


def _line(item: ItemOutcomes) -> dict[str, object]:
    """A table row: human and model scores of a pair, or the outcome and the closest wrong text."""
    row, other = item
    line: dict[str, object] = {"Item": row.key}
    texts = [(single_item.LABELS.get(name, name), text) for name, text in row.texts.items()]
    if row.gold is not None:
        line |= {"Human score": row.gold, "A": row.scores[0]}
        line |= {"B": other.scores[0]} if other is not None else {}
        return line | dict(texts)
    line["A"] = names.outcome(row.outcome)
    line |= {"B": names.outcome(other.outcome)} if other is not None else {}
    line |= dict(texts[:1])
    near = nearest(row)
    return line | ({"Closest wrong, model A": row.texts[near.candidate]} if near else {})


def _pick(widget: str, keys: Sequence[str]) -> None:
    """Store the selected row in the URL, or remove it."""
    rows = st.session_state[widget].selection.rows
    if rows and rows[0] < len(keys):
        st.query_params[PICKED] = keys[rows[0]]
    else:
        st.query_params.pop(PICKED, None)


def _item(item: ItemOutcomes, sides: Sequence[error_outcomes.BenchmarkSide]) -> None:
    rows = [item.first, *([item.second] if item.second else [])]
    single_item.draw(
        dict(zip("AB", rows, strict=False)),
        open_project.type_names(),
    )
    for letter, side, row in zip("AB", sides, rows, strict=False):
        if side.row.architecture == LateInteraction.architecture:
            _tokens(letter, side, row)


def _tokens(letter: str, side: error_outcomes.BenchmarkSide, row: ItemResult) -> None:
    """The token matches of a pair, on demand, because the model must be loaded."""
    pairs = [(one.query, one.candidate) for one in compared(row)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query, candidate = st.selectbox(
            f"Tokens, model {letter}",
            pairs,
            key=f"bench-pair-{letter}",
            format_func=lambda pair: " × ".join(
                single_item.LABELS.get(name, name) for name in pair
            ),
            width=320,
        )
        asked = st.toggle("Show the token map", key=f"bench-tokens-{letter}")
    if not asked:
        return
    try:
        with st.spinner("Loading the model."):
            matrix = open_project.ask(
                token_matrix,
                open_project.settings(),
                side.row.model,
                row.texts[query],
                row.texts[candidate],
                prompts=side.row.prompts,
            )
    except HedgerowError as error:
        error_messages.show(str(error), key=f"bench-tokens-{letter}")
        return
    plot.chart_to_save(
        partial(single_item.token_chart, matrix),
        name=f"tokens-{letter.lower()}",
        alt_text="Similarity of the tokens of the two texts",
    )
    st.caption(
        f"The score, {matrix.score:.2f}, is the sum of the framed cells: the best match in the "
        "document (columns) for each token of the query (rows)."
    )
