"""Agreement between people, by group, and the variants behind each figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from markupsafe import Markup

from curation.anchors.revisions import sources_in_use
from curation.decisions.coefficients import FEWEST, Estimate
from curation.decisions.reviewers import reviewer_names
from curation.decisions.status import status_label
from curation.formatting import counted
from curation.review.agreement.figures import (
    By,
    Figures,
    Group,
    as_text,
    confusion,
    differing,
    figures,
    figures_by,
    in_cell,
    in_group,
    interval_text,
    number,
    sentences,
)
from curation.review.agreement.overlap import VERDICTS, Overlap, overlap
from curation.review.agreement.records import COLUMNS, GivenVerdict, ids_of, records, table
from curation.review.browser_window.messages import reason
from db.models import Verdict
from pages.components.shared import formatting, links, tables
from pages.components.shared.shell import count_cache, open_project

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

    def name(self, by: By, group: Group) -> str:
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
        links.nothing(
            "No two people have decided on the same variant yet. Assign a share of the variants to "
            "several people under Assignment, or import variants with verdicts from several people."
        )
    else:
        _agreement(found)
    counts.follow()


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
        cell, behind = _pick_cell(behind, [names.people[person] for person in pair])
    filters += [cell] if cell else []
    _record_list(behind, filters, names.types, filtered=bool(cell))


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
    picked = _table([(names.name(by, group), made[group]) for group in groups], by, key=f"{pair}")
    if picked is None:
        return [], scope, pair
    group = groups[picked]
    return [names.name(by, group)], in_group(scope, by, group), group if by is By.PAIR else pair


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


# -- The variants behind a figure, and the confusion table of two people's verdicts ---------------


SHOWN = 100
"""Rows in the table. More would be slow to scroll; the CSV file has all."""

_HEADS = ("Card", "Variant", "Verdicts", "Anchor", "Type", "Status")


def _record_list(
    found: Overlap, filters: Sequence[str], labels: Mapping[str, str], *, filtered: bool
) -> None:
    """Draw the first variants, and offer all of them as a file.

    Args:
        filters: the chosen group and cell, in words.
        labels: the names of the types.
        filtered: whether they were already chosen by their verdicts.
    """
    st.header("Variants", anchor=False)
    which = filtered or st.segmented_control(
        "Which variants",
        ["Disagreements", "All"],
        key="team-which",
        default="Disagreements",
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    shows_all = which in (True, "All")
    ids = ids_of(found if shows_all else differing(found))
    with st.container(horizontal=True, vertical_alignment="center", key="team-found"):
        st.text(_found_in_words(len(ids), filters, of=None if shows_all else found.variants))
        tables.csv_button(
            lambda: (COLUMNS, table(open_project.ask(records, ids))),
            "hedgerow-verdicts",
            key="team-csv",
            disabled=not ids,
            help="All verdicts on these variants, one per row.",
        )
    if ids:
        rows = open_project.ask(records, ids[:SHOWN])
        cells = (
            (
                tables.card_link(row.uid),
                tables.sentence(row.text),
                formatting.join(_verdict(given) for given in row.verdicts),
                Markup('<div class="hg-wide">{}</div>').format(tables.sentence(row.anchor)),
                labels.get(row.type_id, row.type_id),
                status_label(row.status),
            )
            for row in rows
        )
        formatting.emit(tables.sentences(_HEADS, cells))


def _found_in_words(number: int, filters: Sequence[str], *, of: int | None) -> str:
    what = f"{': ' if filters else ''}{'; '.join(filters)}"
    shown = f" The table has the first {SHOWN}." if number > SHOWN else ""
    if of is None:
        return f"{counted(number, 'variant')}{what}.{shown}"
    return f"The verdicts disagree on {number:,} of {counted(of, 'variant')}{what}.{shown}"


def _verdict(given: GivenVerdict) -> Markup:
    """One line: reviewer, verdict, reason, note, and whether it is independent."""
    parts = [_DOES[given.verdict].lower(), reason(given.reason), given.note]
    if not given.independent:
        parts.append("(after seeing another verdict)")
    return Markup('<div class="hg-text" dir="auto"><b>{}</b> {}</div>').format(
        given.reviewer, " · ".join(part for part in parts if part)
    )


# -- The confusion table of two people's verdicts -------------------------------------------------


_DOES = {Verdict.ACCEPT: "Accepts", Verdict.REJECT: "Rejects", Verdict.EDIT: "Edits"}


def _pick_cell(found: Overlap, names: Sequence[str]) -> tuple[str, Overlap]:
    """Draw the table for a pair of people.

    Args:
        found: the variants of this pair.
        names: the two names, in the order of their ids.

    Returns:
        The selected cell in words and its variants; without a selection, '' and all variants.
    """
    one, other = names
    st.text(f"Rows: {one}. Columns: {other}. Click a number to see its variants.")
    counts = confusion(found)
    event = st.dataframe(
        [
            {"Verdict": _DOES[row]}
            | {_DOES[column]: counts.get((row, column), 0) for column in VERDICTS}
            for row in VERDICTS
        ],
        hide_index=True,
        key="team-confusion",
        on_select="rerun",
        selection_mode="single-cell",
        width="content",
        column_config=tables.counts(_DOES.values()),
    )
    columns = {name: verdict for verdict, name in _DOES.items()}
    for row, column in event.selection.cells:
        if column in columns and row < len(VERDICTS):
            cell = (VERDICTS[row], columns[column])
            in_words = f"{one} {_DOES[cell[0]].lower()}, {other} {column.lower()}"
            return in_words, in_cell(found, cell)
    return "", found
