"""What reviewers accept and why they reject, by type, cue, genre and origin."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from curation.diagnostics import acceptance
from curation.diagnostics.acceptance import Dimension, Group, Outcomes, ReasonCount
from curation.review.queue import status_counts
from curation.taxonomy.reject_reasons import REJECT_REASONS
from pages.components.diagnostics.scope_of_page import PageView, counting
from pages.components.shared.charts import save, shares
from pages.components.shared.charts.shares import HeatCell

DIMENSIONS = {
    "Type": Dimension.TYPE,
    "Cue": Dimension.CUE,
    "Genre": Dimension.GENRE,
    "Origin": Dimension.ORIGIN,
}

KEY = "by"

GROUPS = 25
"""Bars, of those with most decisions; the table has all."""


def draw(view: PageView) -> None:
    """The whole section."""
    st.session_state.setdefault(KEY, "Type")
    chosen = st.segmented_control(
        "By",
        list(DIMENSIONS),
        key=KEY,
        required=True,
        bind="query-params",
        label_visibility="collapsed",
        help="Origin: what wrote the variants (provider, model and run).",
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
        "Variants as they were written, whatever their status now: acceptance is the share of the "
        "decided ones that were accepted as written or with an edit. What reviewers wrote in "
        "edits is not counted itself."
    )
    if not any(group.decided for group in named.values()):
        st.text("Nothing of this choice has been decided yet.")
    else:
        _chart(view, named, dimension)
    _table(named)
    if dimension is Dimension.TYPE:
        _left_out(view, found)
    _reasons(view, dimension, named, found, reasons)


def _left_out(view: PageView, found: Mapping[Group, Outcomes]) -> None:
    """Name the types that have variants but no row."""
    statuses = view.counts.get(status_counts, view.scope.source_id) or {}
    left_out = [
        label
        for type_id, label in view.labels_of(()).items()
        if (type_id,) not in found and any(statuses.get(type_id, {}).values())
    ]
    if left_out:
        st.text(
            f"Not in the table, since reviewers wrote all their variants: {', '.join(left_out)}."
        )


def _named(
    view: PageView, dimension: Dimension, found: Mapping[Group, Outcomes]
) -> dict[str, Outcomes]:
    """The groups by name: types in the taxonomy's order, others with most decisions first."""
    if dimension is Dimension.TYPE:
        order = view.labels_of(group[0] for group in found)
        return {label: found[(t,)] for t, label in order.items() if (t,) in found}
    ordered = sorted(
        found, key=lambda group: (-found[group].decided, _name(view, dimension, group))
    )
    return {_name(view, dimension, group): found[group] for group in ordered}


def _name(view: PageView, dimension: Dimension, group: Group) -> str:
    if dimension is Dimension.TYPE:
        return view.labels.get(str(group[0]), str(group[0]))
    if dimension is Dimension.ORIGIN:
        provider, model, run = group
        parts = [provider, model if model != provider else "", f"run {run}" if run else ""]
        return ", ".join(part for part in parts if part) or "reviewers"
    return str(group[0] or "(none)")


def _chart(view: PageView, named: Mapping[str, Outcomes], dimension: Dimension) -> None:
    decided = [name for name, found in named.items() if found.decided]
    shown = {name: named[name] for name in decided[:GROUPS]}
    drawn = partial(shares.acceptance, shown)
    save.chart(
        drawn,
        name=f"acceptance-{dimension.value}",
        alt_text="Bars: what became of the decided variants; the table below has the numbers",
    )
    if len(decided) > GROUPS:
        st.caption(f"The {GROUPS} with most decisions of {len(decided):,}; the table has all.")


def _table(named: Mapping[str, Outcomes]) -> None:
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
    number = st.column_config.NumberColumn(format="localized")
    share = st.column_config.NumberColumn(format="percent")
    columns = dict.fromkeys(
        ("Decided", "Accepted", "Edited", "Rejected", "Conflict", "Pending"), number
    )
    st.dataframe(
        rows,
        hide_index=True,
        key="acceptance",
        column_config=columns | {"Acceptance": share, "As written": share},
    )


def _reasons(
    view: PageView,
    dimension: Dimension,
    named: Mapping[str, Outcomes],
    found: Mapping[Group, Outcomes],
    reasons: Sequence[ReasonCount],
) -> None:
    st.header("Why variants are rejected", anchor=False)
    if not reasons:
        st.text("No variant of this choice is rejected.")
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
        HeatCell(name, reason, numbers[name, reason], rejected[name])
        for name in rows
        for reason in columns
    ]
    drawn = partial(shares.heat_map, cells, columns=columns, of="Rejected variants")
    save.chart(
        drawn,
        name=f"reasons-{dimension.value}",
        alt_text="Heat map: how many rejected variants of each group have which reason",
    )
    st.caption(
        "Rejected variants by the reasons of the verdicts that stand; one with two reasons counts "
        "under both. The darker, the greater the share of the row."
    )
