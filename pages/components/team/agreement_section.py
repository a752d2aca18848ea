"""Agreement between people, by group, and the variants behind each figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from curation.anchors.revisions import sources_in_use
from curation.decisions.coefficients import FEWEST, Estimate
from curation.decisions.reviewers import reviewer_names
from curation.formatting import counted
from curation.review.agreement.figures import (
    By,
    Figures,
    Group,
    as_text,
    figures,
    figures_by,
    in_group,
    interval_text,
    number,
    sentences,
)
from curation.review.agreement.overlap import Overlap, overlap
from pages.components.shared import links, tables
from pages.components.shared.shell import (
    count_cache,
    open_project,
)
from pages.components.team import agreement_details

_VERDICTS, _PEOPLE, _BY = "verdicts", "people", "agreement-by"
"""Widget keys."""

_EVERYBODY = "everybody"

_HELP = {
    _VERDICTS: "Independent: verdicts given before the person knew anybody else's. People who see "
    "an earlier verdict tend to follow it.",
    "Agreement": "The share of pairs of verdicts on the same variant that agree. An edit counts as "
    "a rejection.",
    "Alpha": "Krippendorff's alpha for any number of people: 0 is chance agreement, 1 is "
    "full agreement.",
    "Kappa": "Cohen's kappa for two people: 0 is chance agreement, 1 is full agreement.",
    "Accepted": "The share of verdicts that are acceptances.",
}


@dataclass(frozen=True)
class _Names:
    """The names of groups and people; they may contain hostile text."""

    types: Mapping[str, str]
    sources: Mapping[int, str]
    people: Mapping[int | None, str]

    def of(self, by: By, group: Group) -> str:
        if by is By.PAIR:
            return self.pair(group)
        names: dict[By, Mapping[Any, str]] = {By.TYPE: self.types, By.SOURCE: self.sources}
        return names.get(by, {}).get(group, str(group))

    def pair(self, pair: tuple[int, int]) -> str:
        return " and ".join(self.people.get(person, "?") for person in pair)


def draw() -> None:
    """Draw the section."""
    counts = count_cache.CachedCounts()
    if counts.empty:
        links.no_variants()
        return
    found = counts.get(overlap)
    if found is None:
        st.text("Counting. In a large project this takes a few seconds.")
    elif not found.variants:
        _nothing_yet()
    else:
        _agreement(found)
    counts.follow()


def _nothing_yet() -> None:
    links.nothing(
        "No two people have decided on the same variant yet. Assign a share of the variants to "
        "several people under Assignment, or import variants with verdicts from several people."
    )


def _agreement(found: Overlap) -> None:
    names = _Names(
        types=open_project.type_names(),
        sources=open_project.ask(sources_in_use),
        people=open_project.ask(reviewer_names),
    )
    pair, scope, left_out = _scope(found, names)
    if not scope.variants:
        st.text(
            "No variant has independent verdicts from two people. Choose All to include verdicts "
            "given after seeing another one."
        )
        return
    _headline(figures(scope))
    if left_out:
        st.caption(
            f"Left out: {counted(left_out, 'variant')} with fewer than two independent verdicts."
        )
    filters, behind, pair = _groups(scope, names, pair)
    cell = ""
    if pair is not None:
        cell, behind = agreement_details.pick_cell(
            behind, [names.people[person] for person in pair]
        )
    filters += [cell] if cell else []
    agreement_details.record_list(behind, filters, names.types, filtered=bool(cell))


def _scope(found: Overlap, names: _Names) -> tuple[tuple[int, int] | None, Overlap, int]:
    """The chosen pair of people, the variants to count, and how many variants are left out because
    their verdicts are not independent."""
    pairs = {f"{one}-{other}": (one, other) for one, other in found.pairs}
    labels = {_EVERYBODY: "Everybody"} | {key: names.pair(pair) for key, pair in pairs.items()}
    if st.session_state.get(_PEOPLE, _EVERYBODY) not in labels:
        st.session_state[_PEOPLE] = _EVERYBODY
    with st.container(horizontal=True, key="team-scope"):
        basis = st.segmented_control(
            "Verdicts",
            ["Independent", "All"],
            key=_VERDICTS,
            default="Independent",
            required=True,
            bind="query-params",
            help=_HELP[_VERDICTS],
        )
        people = st.selectbox(
            "People",
            list(labels),
            format_func=lambda key: labels[key],
            key=_PEOPLE,  # not in the address, which would name people
            width=260,
        )
        present = {pattern.source_id for pattern in found.patterns}
        source_id = links.source_menu(
            {key: name for key, name in names.sources.items() if key in present}
        )
    pair = pairs.get(people)
    everything = found.narrowed(pair=pair, source_id=source_id)
    scope = everything.narrowed(independent=basis == "Independent")
    return pair, scope, everything.variants - scope.variants


def _headline(found: Figures) -> None:
    """Show the overall figures with their intervals and an interpretation."""
    shown = {
        "Agreement": (found.agreement, True),
        "Alpha": (found.alpha, False),
        "Kappa": (found.kappa, False),
    }
    with st.container(horizontal=True, key="team-figures"):
        st.metric("Variants", f"{found.variants:,}", width=150)
        for label, (estimate, as_percent) in shown.items():
            if label != "Kappa" or estimate.value is not None:
                _metric(label, estimate, as_percent=as_percent)
        st.metric(
            "Accepted",
            number(found.accepted or 0.0, as_percent=True),
            help=_HELP["Accepted"],
            width=150,
        )
    st.text(" ".join(sentences(found)))


def _metric(label: str, estimate: Estimate, *, as_percent: bool) -> None:
    value = "–" if estimate.value is None else number(estimate.value, as_percent=as_percent)
    st.metric(
        label,
        value,
        delta=interval_text(estimate, as_percent=as_percent) or None,
        delta_color="off",
        delta_arrow="off",
        help=f"{_HELP[label]} The 95% interval is below.",
        width=150,
    )


def _groups(
    scope: Overlap, names: _Names, pair: tuple[int, int] | None
) -> tuple[list[str], Overlap, tuple[int, int] | None]:
    """Draw the table of groups; the name and variants of the selected one, and its pair, if any."""
    left_out = {By.PAIR} if pair else set()
    options = {by.value.capitalize(): by for by in By if by not in left_out}
    chosen = st.segmented_control(
        "Group by",
        list(options),
        key=_BY if pair is None else f"{_BY}-pair",
        default="Type",
        required=True,
        bind="query-params",
    )
    by = options[chosen or "Type"]
    made = figures_by(scope, by)
    if not made:
        st.text("None of these variants has a cue.")
        return [], scope, pair
    groups = list(made)
    picked = _table([(names.of(by, group), made[group]) for group in groups], by, key=f"{pair}")
    if picked is None:
        return [], scope, pair
    group = groups[picked]
    return [names.of(by, group)], in_group(scope, by, group), group if by is By.PAIR else pair


def _table(rows: Sequence[tuple[str, Figures]], by: By, *, key: str) -> int | None:
    """Draw the figures of the groups; the index of the selected row."""
    kappa = any(found.kappa.value is not None for _, found in rows)
    event = st.dataframe(
        [
            {
                by.value.capitalize(): name,
                "Variants": found.variants,
                "Agreement": as_text(found.agreement, as_percent=True),
                "Alpha": as_text(found.alpha),
                **({"Kappa": as_text(found.kappa)} if kappa else {}),
                "Accepted": 100 * (found.accepted or 0.0),
            }
            for name, found in rows
        ],
        hide_index=True,
        key=f"team-groups-{by.value}-{key}",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "Variants": tables.COUNT,
            "Agreement": st.column_config.TextColumn(help=_HELP["Agreement"]),
            "Alpha": st.column_config.TextColumn(help=_HELP["Alpha"]),
            "Kappa": st.column_config.TextColumn(help=_HELP["Kappa"]),
            "Accepted": st.column_config.NumberColumn(format="%.1f%%", help=_HELP["Accepted"]),
        },
    )
    st.caption(
        f"Brackets show 95% intervals for {FEWEST} or more variants. Select a row to see its "
        "variants."
    )
    picked = [row for row in event.selection.rows if row < len(rows)]
    return picked[0] if picked else None
