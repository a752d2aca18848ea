"""Diagnostics: what was measured on the variants, how varied they are, what reviewers accept."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from curation import distributions, found_variants
from curation.distributions import Scope
from curation.found_variants import First, Wanted
from curation.measures import Flag
from curation.project import THRESHOLD, get_setting
from db.engine import reading
from pages.components import (
    acceptance_panel,
    background,
    diagnostics_charts,
    diversity_panel,
    frame,
    no_variants,
    plot,
    project,
    run_view,
    save_chart,
    threshold_panel,
)
from pages.components.diagnostics_charts import BRUSH, Cell
from pages.components.diagnostics_view import (
    STATUSES,
    View,
    counting,
    found_table,
    measure_button,
)
from pages.components.kept import Counts

POINTS = 3_000  # of the scatter: more are one cloud, and slow to draw


def _scope() -> Scope:
    """What the whole page looks at; the address keeps it."""
    labels = {entry.id: entry.label for entry in project.types()}
    st.session_state.setdefault("status", "In use")
    with st.container(horizontal=True, vertical_alignment="bottom", key="scope"):
        types = st.multiselect(
            "Types", list(labels), format_func=lambda key: labels[key], key="types",
            bind="query-params", placeholder="All types",
        )  # fmt: skip
        status = st.segmented_control(
            "Status", list(STATUSES), key="status", required=True, bind="query-params"
        )  # fmt: skip
    return Scope(tuple(t for t in labels if t in types), STATUSES[status or "In use"])


def _pairs(view: View) -> None:
    """Distance against similarity: drag over a region to see and review what lies in it."""
    found = view.counts.get(found_variants.sample, view.scope, size=POINTS)
    if found is None:
        counting()
        return
    if not found.points:
        st.text("No variant of this choice has both a distance and a similarity yet.")
        measure_button(found.of, what="cosine")
        return
    with reading(project.engine()) as session:
        threshold = int(get_setting(session, THRESHOLD))
    labels = view.labels_of(point.type_id for point in found.points)
    drawn = partial(diagnostics_charts.scatter, found.points, labels=labels, threshold=threshold)
    st.text(_drawn(found))
    selected = plot.chart(
        drawn(dark=st.context.theme.type == "dark"), key="pairs", on_select="rerun",
        selection_mode=[BRUSH],
        alt="Scatter plot of Levenshtein distance and cosine similarity; drag over a region to "
        "list its variants",
    )  # fmt: skip
    save_chart.buttons(partial(drawn, dark=False), name="pairs", key="save-pairs")
    region = _region(selected)
    if region is None:
        st.caption("Drag over a region of the chart: its variants are listed here.")
        return
    (least, most), (low, high) = region
    found_table(
        view,
        Wanted(view.scope, levenshtein=(least, most), cosine=(low, high)),
        told=f"Levenshtein distance {least} to {most}, cosine {low:.3f} to {high:.3f}",
        key="region",
    )


def _drawn(found: found_variants.Sample) -> str:
    top = "Top left: small changes that the encoder hardly sees, the pairs it gets wrong."
    if len(found.points) == found.of:
        return f"{found.of:,} variants. {top}"
    return (
        f"An even sample of {len(found.points):,} of {found.of:,} variants; a region that you mark "
        f"stands for all that lie in it. {top}"
    )


def _region(selected: Any) -> tuple[tuple[int, int], tuple[float, float]] | None:
    """The bounds of the marked region, whole characters and thousandths outwards."""
    brush: Mapping[str, list[float]] = selected.get("selection", {}).get(BRUSH) or {}
    if not {"levenshtein", "cosine"} <= brush.keys():
        return None
    characters, cosines = sorted(brush["levenshtein"]), sorted(brush["cosine"])
    return (
        (max(0, math.ceil(characters[0])), math.floor(characters[-1])),
        (math.floor(cosines[0] * 1000) / 1000, math.ceil(cosines[-1] * 1000) / 1000),
    )


def _flags(view: View) -> None:
    """How many variants of each type have which flag, and those that have one."""
    rows = view.counts.get(distributions.flag_counts)
    if rows is None:
        counting()
        return
    labels = view.labels_of(row.type_id for row in rows)
    found = distributions.flags_by_type(rows, view.scope, type_ids=list(labels))
    if not found:
        st.text("No variant of this choice has been measured yet.")
        return
    names = {str(int(flag)): flag.label for flag in Flag}
    cells = [Cell(labels[row.type_id], str(int(row.flag)), row.number, row.of) for row in found]
    drawn = partial(diagnostics_charts.heat_map, cells, columns=names, of="Measured variants")
    save_chart.chart(
        drawn, name="flags",
        alt_text="Heat map: how many variants of each type have which flag",
    )  # fmt: skip
    st.caption("Variants with the flag, and their share of the measured ones of the type.")
    _flagged(view, found)


def _flagged(view: View, found: list[distributions.FlagRow]) -> None:
    numbers = {flag: sum(row.number for row in found if row.flag == flag) for flag in Flag}
    present = {flag.label: flag for flag, number in numbers.items() if number}
    if not present:
        st.text("None of them has a flag.")
        return
    chosen = st.segmented_control(
        "Show the variants with the flag", list(present), key="flag", bind="query-params"
    )
    if chosen is None:
        return
    flag = present[chosen]
    st.caption(flag.explanation)
    found_table(
        view, Wanted(view.scope, flag=flag, first=First.SUSPICIOUS), told=flag.label, key="flagged"
    )


SECTIONS = {
    "Distances": threshold_panel.draw,
    "Pairs": _pairs,
    "Flags": _flags,
    "Cues & negators": diversity_panel.draw,
    "Acceptance": acceptance_panel.draw,
}


frame.begin(
    "Diagnostics",
    "How far variants are from their anchors, what is conspicuous, how varied they are, and what "
    "reviewers make of them.",
)
counts = Counts()
if counts.empty:
    no_variants.box()
    st.stop()
measuring = background.active("diagnose")
if measuring is not None:
    st.text("Variants are being measured: figures may change until that is done (see below).")
scope = _scope()
st.session_state.setdefault("show", "Distances")
section = st.segmented_control(
    "Section", list(SECTIONS), key="show", required=True, bind="query-params",
    label_visibility="collapsed",
)  # fmt: skip
current = View(counts, scope, {entry.id: entry.label for entry in project.types()})
SECTIONS[section or "Distances"](current)
if measuring is not None:
    run_view.follow(measuring, title="Measure variants")
counts.follow()
