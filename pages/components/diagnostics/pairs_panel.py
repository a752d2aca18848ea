"""Pairs: distance against similarity by type, and the variants of a selected region."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from curation.diagnostics import distributions
from curation.diagnostics.distributions import PairCount
from curation.diagnostics.variant_table import VariantFilter
from curation.formatting import counted
from pages.components.diagnostics import pairs_chart
from pages.components.diagnostics.histogram_charts import Axis
from pages.components.diagnostics.pairs_chart import BRUSH, PLACE, Region, TypePairs
from pages.components.diagnostics.scope_of_page import (
    PageView,
    counting,
    found_table,
    measure_button,
)
from pages.components.shared.charts import plot, save
from pages.components.shared.shell import open_project

_MARKED, _ROUNDS = "pairs-marked", "pairs-rounds"


def draw(view: PageView) -> None:
    """Show the section."""
    rows = view.counts.get(distributions.pair_counts, view.scope.source_id)
    in_use = view.in_use()
    if rows is None or in_use is None:
        counting()
        return
    measured = sum(row.number for row in rows)
    if measured < in_use:
        measure_button(in_use - measured, what="cosine")
    types = _types(view, rows)
    if not types:
        st.text("None of the selected variants has both a distance and a similarity yet.")
        return
    type_id, region = _marked_in(types, _charts(types))
    if region is None:
        st.caption("Drag over a region or click a cell to list its variants here.")
        return
    found_table(
        view,
        VariantFilter(
            replace(view.scope, types=(type_id,)),
            levenshtein=region.distances,
            cosine_bins=region.bins,
        ),
        description=f"{types[type_id].label}, "
        + pairs_chart.description(types[type_id].axes.distance, region),
        key="region",
    )


def _types(view: PageView, rows: Sequence[PairCount]) -> dict[str, TypePairs]:
    """The chart data of each type; free-form types have larger distances and their own axes."""
    entries = open_project.every_type()
    kept = {key for key, entry in entries.items() if entry.surface_check.keeps_words}
    axes = {
        is_kept: pairs_chart.axes_of(row for row in rows if (row.type_id in kept) == is_kept)
        for is_kept in (True, False)
    }
    shown = [row for row in rows if view.scope.holds(row.type_id, row.status)]
    there = {row.type_id for row in shown}
    return {
        type_id: TypePairs(
            label,
            entries[type_id].role,
            [row for row in shown if row.type_id == type_id],
            axes[type_id in kept],
        )
        for type_id, label in view.labels_of(there).items()
        if type_id in there
    }


def _charts(types: Mapping[str, TypePairs]) -> dict[str, Any]:
    """Show the charts; return the selection of each."""
    number = counted(sum(row.number for pairs in types.values() for row in pairs.rows), "variant")
    st.text(
        f"{number}. The top left of each chart shows small changes that the encoder barely "
        "notices. If such a change is a negation, the encoder gets the pair wrong."
    )
    rounds = st.session_state.setdefault(_ROUNDS, Counter())
    selected: dict[str, Any] = {}
    with st.container(horizontal=True, key="pairs-charts"):
        for type_id, pairs in types.items():
            with st.container(gap="small"):
                st.text(f"{pairs.label} · {sum(row.number for row in pairs.rows):,}")
                selected[type_id] = plot.chart(
                    pairs_chart.draw(pairs, dark=st.context.theme.type == "dark"),
                    key=f"pairs-{type_id}-{rounds[type_id]}",
                    on_select=partial(_mark, type_id),
                    selection_mode=[BRUSH, PLACE],
                    alt=f"{pairs.label}: heat map of Levenshtein distance and cosine similarity; "
                    "drag over a region or click a cell to list its variants",
                )
    save.buttons(
        partial(pairs_chart.printed, list(types.values()), dark=False),
        name="pairs",
        key="save-pairs",
    )
    st.caption(
        "Each cell counts a type's variants with a similar distance and cosine. The stronger its "
        "colour, the more variants it contains. The distance axis covers a wider range for "
        "free-form types."
    )
    return selected


def _mark(type_id: str) -> None:
    """Remember which chart has the latest selection, and clear the one before."""
    before = st.session_state.get(_MARKED)
    if before is not None and before != type_id:
        st.session_state[_ROUNDS][before] += 1
    st.session_state[_MARKED] = type_id


def _marked_in(
    types: Mapping[str, TypePairs], selected: Mapping[str, Any]
) -> tuple[str, Region | None]:
    """The type with the latest selection, and that selection."""
    type_id = st.session_state.get(_MARKED, "")
    if type_id not in types:
        return type_id, None
    return type_id, _region(selected[type_id], types[type_id].axes.distance)


def _region(selected: Any, axis: Axis) -> Region | None:
    """The selection: a dragged region, or else a clicked cell."""
    selection: Mapping[str, Any] = selected.get("selection", {})
    brush: Mapping[str, list[float]] = selection.get(BRUSH) or {}
    if {"x", "y"} <= brush.keys():
        return pairs_chart.marked(axis, brush["x"], brush["y"])
    for place in selection.get(PLACE) or []:
        return pairs_chart.clicked(axis, float(place["x"]), int(place["bin"]))
    return None
