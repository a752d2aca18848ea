"""Diagnostics: measurements of the variants, their diversity, acceptance rates and giveaways."""

from functools import partial

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.diagnostics import distributions
from curation.diagnostics.measures import Flag
from curation.diagnostics.measuring import KIND as MEASURE
from curation.diagnostics.variant_table import First, VariantFilter
from pages.components.diagnostics import (
    acceptance_panel,
    diversity_panel,
    giveaways_panel,
    pairs_panel,
    threshold_panel,
)
from pages.components.diagnostics.scope_of_page import STATUSES, PageView, counting, found_table
from pages.components.shared import links, page_runs
from pages.components.shared.charts import plot, shares
from pages.components.shared.shell import count_cache, frame, open_project


def _scope() -> distributions.Scope:
    """The choice that applies to the whole page; it is kept in the URL."""
    labels = {entry.id: entry.label for entry in open_project.types()}
    st.session_state.setdefault("status", "In use")
    with st.container(horizontal=True, key="scope"):
        types = st.multiselect(
            "Types",
            list(labels),
            format_func=lambda key: labels[key],
            key="types",
            bind="query-params",
            placeholder="All types",
        )
        status = st.segmented_control(
            "Status", list(STATUSES), key="status", required=True, bind="query-params"
        )
        source_id = links.source_menu(open_project.ask(sources_in_use))
    return distributions.Scope(
        tuple(t for t in labels if t in types), STATUSES[status or "In use"], source_id
    )


def _flags(view: PageView) -> None:
    """Show how many variants of each type have each flag, and list the flagged variants."""
    rows = view.counts.get(distributions.flag_counts, view.scope.source_id)
    if rows is None:
        counting()
        return
    labels = view.labels_of(row.type_id for row in rows)
    found = distributions.flags_by_type(rows, view.scope, type_ids=list(labels))
    if not found:
        st.text("None of the selected variants has been measured yet.")
        return
    names = {str(int(flag)): flag.label for flag in Flag}
    cells = [
        shares.HeatCell(labels[row.type_id], str(int(row.flag)), row.number, row.of)
        for row in found
    ]
    plot.chart_to_save(
        partial(shares.heat_map, cells, columns=names, heading="Flag", of="Measured variants"),
        name="flags",
        alt_text="Heat map: number of variants per type and flag",
    )
    st.caption(
        "Number of variants with each flag, and their share of the type's measured variants."
    )
    _flagged(view, found)


def _flagged(view: PageView, found: list[distributions.FlagRow]) -> None:
    numbers = {flag: sum(row.number for row in found if row.flag == flag) for flag in Flag}
    present = {flag.label: flag for flag, number in numbers.items() if number}
    if not present:
        st.text("None of the selected variants has a flag.")
        return
    chosen = st.segmented_control(
        "Show variants with this flag", list(present), key="flag", bind="query-params"
    )
    if chosen is None:
        return
    flag = present[chosen]
    st.caption(flag.explanation)
    found_table(
        view,
        VariantFilter(view.scope, flag=flag, first=First.SUSPICIOUS),
        description=flag.label,
        key="flagged",
    )


SECTIONS = {
    "Distances": threshold_panel.draw,
    "Pairs": pairs_panel.draw,
    "Flags": _flags,
    "Cues & negators": diversity_panel.draw,
    "Acceptance": acceptance_panel.draw,
    "Giveaways": giveaways_panel.draw,
}


frame.begin(
    "Diagnostics",
    "See how far variants are from their anchors, how varied they are, and which are flagged or "
    "accepted. Find words that reveal a variant's class.",
)
counts = count_cache.CachedCounts()
if counts.empty:
    links.no_variants()
    st.stop()
measuring = page_runs.active(MEASURE)
if measuring is not None:
    st.text("Variants are being measured (see below). The figures may change until this is done.")
scope = _scope()
section = frame.section(list(SECTIONS), key="show")
current = PageView(counts, scope, {entry.id: entry.label for entry in open_project.types()})
SECTIONS[section](current)
if measuring is not None:
    page_runs.follow(measuring)
counts.follow()
