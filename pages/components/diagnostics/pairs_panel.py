"""Pairs: distance against similarity, and the variants of a region that is marked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from curation.diagnostics import distributions
from curation.diagnostics.distributions import PairCount, Scope
from curation.diagnostics.variants_by_measure import VariantFilter
from curation.plurals import counted
from pages.components.diagnostics import pairs_chart
from pages.components.diagnostics.histogram_charts import Axis
from pages.components.diagnostics.pairs_chart import BRUSH, PLACE, Region
from pages.components.diagnostics.scope_of_page import (
    PageView,
    counting,
    found_table,
    measure_button,
)
from pages.components.shared.charts import plot, save
from pages.components.shared.shell import open_project


def draw(view: PageView) -> None:
    """The whole section."""
    rows = view.counts.get(distributions.pair_counts, view.scope.source_id)
    in_use = view.in_use()
    if rows is None or in_use is None:
        counting()
        return
    measured = sum(row.number for row in rows)
    if measured < in_use:
        measure_button(in_use - measured, what="cosine")
    shown = [row for row in rows if view.scope.holds(row.type_id, row.status)]
    if not shown:
        st.text("No variant of this choice has both a distance and a similarity yet.")
        return
    axis = pairs_chart.distance_axis(rows)
    scope, region = _region(_chart(view, shown, axis), axis, view.scope)
    if region is None:
        st.caption("Drag over a region, or click on a symbol: its variants are listed here.")
        return
    found_table(
        view,
        VariantFilter(scope, levenshtein=region.distances, cosine_bins=region.bins),
        told=pairs_chart.told(axis, region),
        key="region",
    )


def _chart(view: PageView, shown: Sequence[PairCount], axis: Axis) -> Any:
    """Draw the chart; what is selected in it."""
    labels = view.labels_of(row.type_id for row in shown)
    drawn = partial(
        pairs_chart.draw, shown, axis=axis, labels=labels, own=tuple(open_project.own_types())
    )
    number = counted(sum(row.number for row in shown), "variant")
    st.text(
        f"{number}. Top left: small changes that the encoder hardly sees, the pairs it gets wrong."
    )
    selected = plot.chart(
        drawn(dark=st.context.theme.type == "dark"),
        key="pairs",
        on_select="rerun",
        selection_mode=[BRUSH, PLACE],
        alt="Chart of Levenshtein distance and cosine similarity; drag over a region or click on "
        "a symbol to list its variants",
    )
    save.buttons(partial(drawn, dark=False), name="pairs", key="save-pairs")
    st.caption(
        "A symbol is the variants of one type with the same distance and nearly the same cosine "
        "(steps of 0.02); a larger one is more of them. Types with the same values are next to "
        "each other."
    )
    return selected


def _region(selected: Any, axis: Axis, scope: Scope) -> tuple[Scope, Region | None]:
    """What is marked: a region that was dragged over, or else a symbol, which is of one type."""
    selection: Mapping[str, Any] = selected.get("selection", {})
    brush: Mapping[str, list[float]] = selection.get(BRUSH) or {}
    if {"x", "y"} <= brush.keys():
        return scope, pairs_chart.marked(axis, brush["x"], brush["y"])
    for place in selection.get(PLACE) or []:
        one = replace(scope, types=(str(place["type_id"]),))
        return one, pairs_chart.clicked(axis, int(place["column"]), int(place["bin"]))
    return scope, None
