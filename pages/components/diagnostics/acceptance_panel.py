"""Acceptance rates and reject reasons by type, cue, genre and origin."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from curation.diagnostics import acceptance
from curation.review.queue import status_counts
from curation.taxonomy.reject_reasons import REJECT_REASONS
from pages.components.diagnostics.scope_of_page import PageView, counting
from pages.components.shared import tables
from pages.components.shared.charts import plot, shares

DIMENSIONS = {
    "Type": acceptance.Dimension.TYPE,
    "Cue": acceptance.Dimension.CUE,
    "Genre": acceptance.Dimension.GENRE,
    "Origin": acceptance.Dimension.ORIGIN,
}

KEY = "by"

GROUPS = 25
"""Maximum number of bars, for the groups with the most decisions; the table lists all groups."""


def draw(view: PageView) -> None:
    """Show the section."""
    st.session_state.setdefault(KEY, "Type")
    chosen = st.segmented_control(
        "By",
        list(DIMENSIONS),
        key=KEY,
        required=True,
        bind="query-params",
        label_visibility="collapsed",
        help="Origin is the provider, model and run that wrote the variants.",
    )
    dimension = DIMENSIONS[chosen or "Type"]
    scope = {"types": view.scope.types, "source_id": view.scope.source_id}
    found = view.counts.get(acceptance.outcomes, dimension, **scope)
    reasons = view.counts.get(acceptance.reject_reasons, dimension, **scope)
    if found is None or reasons is None:
        counting()
        return
    named = _named(view, dimension, found)
    st.header("Acceptance", anchor=False)
    st.text(
        "Acceptance is the share of decided variants that were accepted as written or after an "
        "edit. An edited variant counts once. Variants that reviewers wrote from scratch are not "
        "counted."
    )
    if not any(group.decided for group in named.values()):
        st.text("None of the selected variants has been decided yet.")
    else:
        _chart(view, named, dimension)
    _table(named)
    if dimension is acceptance.Dimension.TYPE:
        _left_out(view, found)
    _reasons(view, dimension, named, found, reasons)


def _left_out(view: PageView, found: Mapping[acceptance.Group, acceptance.Outcomes]) -> None:
    """List the types that have variants but no row."""
    statuses = view.counts.get(status_counts, view.scope.source_id) or {}
    left_out = [
        label
        for type_id, label in view.labels_of(()).items()
        if (type_id,) not in found and any(statuses.get(type_id, {}).values())
    ]
    if left_out:
        st.text(
            f"Not in the table because reviewers wrote all their variants: {', '.join(left_out)}."
        )


def _named(
    view: PageView,
    dimension: acceptance.Dimension,
    found: Mapping[acceptance.Group, acceptance.Outcomes],
) -> dict[str, acceptance.Outcomes]:
    """The groups by name: types in taxonomy order, others by number of decisions."""
    if dimension is acceptance.Dimension.TYPE:
        order = view.labels_of(group[0] for group in found)
        return {label: found[(t,)] for t, label in order.items() if (t,) in found}
    ordered = sorted(
        found, key=lambda group: (-found[group].decided, _name(view, dimension, group))
    )
    return {_name(view, dimension, group): found[group] for group in ordered}


def _name(view: PageView, dimension: acceptance.Dimension, group: acceptance.Group) -> str:
    if dimension is acceptance.Dimension.TYPE:
        return view.labels.get(str(group[0]), str(group[0]))
    if dimension is acceptance.Dimension.ORIGIN:
        provider, model, run = group
        parts = [provider, model if model != provider else "", f"run {run}" if run else ""]
        return ", ".join(part for part in parts if part) or "reviewers"
    return str(group[0] or "(none)")


def _chart(
    view: PageView, named: Mapping[str, acceptance.Outcomes], dimension: acceptance.Dimension
) -> None:
    decided = [name for name, found in named.items() if found.decided]
    shown = {name: named[name] for name in decided[:GROUPS]}
    plot.chart_to_save(
        partial(shares.acceptance, shown),
        name=f"acceptance-{dimension.value}",
        alt_text="Bar chart: outcomes of the decided variants; the table below has the numbers",
    )
    if len(decided) > GROUPS:
        st.caption(
            f"The chart shows the {GROUPS} groups with the most decisions. The table lists all "
            f"{len(decided):,} groups."
        )


def _table(named: Mapping[str, acceptance.Outcomes]) -> None:
    rows = [
        {
            "Group": name,
            "Acceptance": found.acceptance,
            "As written": found.as_written,
            "Decided": found.decided,
            "Accepted": found.accepted,
            "Edited": found.edited,
            "Rejected": found.rejected,
            "Conflict": found.conflict,
            "Pending": found.pending,
        }
        for name, found in named.items()
    ]
    st.dataframe(
        tables.percentages(rows, "Acceptance", "As written"),
        hide_index=True,
        key="acceptance",
        height="content" if len(rows) <= GROUPS else "auto",
        column_config=tables.counts(("Decided", "Edited", "Rejected", "Conflict", "Pending"))
        | {
            "Accepted": st.column_config.NumberColumn("Accepted as written", format="localized"),
        },
    )


def _reasons(
    view: PageView,
    dimension: acceptance.Dimension,
    named: Mapping[str, acceptance.Outcomes],
    found: Mapping[acceptance.Group, acceptance.Outcomes],
    reasons: Sequence[acceptance.ReasonCount],
) -> None:
    st.header("Rejection reasons", anchor=False)
    if not reasons:
        st.text("None of the selected variants is rejected.")
        return
    rejected = {name: group.rejected for name, group in named.items() if group.rejected}
    rows = list(rejected)[:GROUPS]
    labels = {reason.id: reason.label for reason in REJECT_REASONS}
    labels |= {row.reason: row.reason or "no reason" for row in reasons if row.reason not in labels}
    numbers: Counter[tuple[str, str]] = Counter()
    for row in reasons:
        numbers[_name(view, dimension, row.group), row.reason] += row.number
    used = {reason for _, reason in numbers}
    columns = {key: label for key, label in labels.items() if key in used}
    cells = [
        shares.HeatCell(name, reason, numbers[name, reason], rejected[name])
        for name in rows
        for reason in columns
    ]
    plot.chart_to_save(
        partial(shares.heat_map, cells, columns=columns, heading="Reason", of="Rejected variants"),
        name=f"reasons-{dimension.value}",
        alt_text="Heat map: rejected variants per group and reason",
    )
    st.caption(
        "Reasons for the current rejections. A variant with two reasons counts under both. "
        "Stronger colours show larger shares of a row."
    )
