"""The Compare page's view of a measured set or of measured sentences.

Tables call the models A and B, as in the boxes above; charts name them, because they can be saved.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import streamlit as st

from curation.formatting import decimal
from curation.taxonomy.built_in import variant_type
from curation.taxonomy.cues import HEDGE_CUES
from pages.components.compare import charts
from pages.components.compare.charts import DIFFERENCE, DIGITS, ComparedModel, download, table
from pages.components.shared import tables
from pages.components.shared.charts import plot, similarity_bars
from pages.components.shared.shell import error_messages
from training.evaluation.probe_sets import GROUPS_SET, OpenSet
from training.evaluation.similarity import (
    AFFIRMED,
    ROLES,
    BundledGroup,
    ProbeGroup,
    ProbePair,
    ProbeRow,
    bundled_groups,
    find_groups,
    score,
)

MAP_WIDTH = 520
"""Width in pixels of a heat map: two fit side by side in a wide window."""

SHOWN_PAIRS = 30
"""Most pairs in the chart; the table has all."""


def show_set(opened: OpenSet, sides: Sequence[ComparedModel]) -> None:
    """A set of pairs, its groups first."""
    probes = [stored.probe for stored in opened.probes]
    groups = find_groups(probes)
    if groups:
        show_groups(opened.name, probes, groups, sides)
    grouped = {row for group in groups for row in group.rows.values()}
    if rest := [row for row in range(len(probes)) if row not in grouped]:
        if groups:
            st.header("Other pairs", anchor=False)
        _pairs(probes, rest, sides)
    lines = [(*probe, *(side.cosines[at] for side in sides)) for at, probe in enumerate(probes)]
    download(["anchor", "text", "label"], lines, sides)


def _pairs(
    probes: Sequence[ProbePair], rest: Sequence[int], sides: Sequence[ComparedModel]
) -> None:
    """Pairs outside groups: bars, the largest difference first, and a table."""
    order = sorted(rest, key=lambda at: -abs(sides[-1].cosines[at] - sides[0].cosines[at]))
    rows = [
        ProbeRow(*probes[at], side.label, side.cosines[at], published=False)
        for at in order[:SHOWN_PAIRS]
        for side in sides
    ]
    plot.chart_to_save(
        partial(similarity_bars.own_probes, rows, first=sides[0].label),
        name="pairs",
        alt_text="Cosine similarity of sentence pairs, by model",
    )
    if len(order) > SHOWN_PAIRS:
        which = "that differ most between the models" if len(sides) > 1 else "first"
        st.caption(
            f"The chart shows the {SHOWN_PAIRS} pairs {which}. The table has all {len(order):,}."
        )
    table(
        [(probes[at].anchor, probes[at].text, *(s.cosines[at] for s in sides)) for at in order],
        sides,
    )


def show_sentences(sentences: Sequence[str], sides: Sequence[ComparedModel]) -> None:
    """Heat maps of all pairs of sentences on one scale, and the difference between the models."""
    low = charts.shared_low([side.cosines for side in sides])
    with st.container(horizontal=True, gap="medium"):
        for side in sides:
            with st.container(width=MAP_WIDTH):
                st.text(f"{side.letter}: {side.label}")
                plot.chart_to_save(
                    partial(charts.heat_map, side.cosines, sentences, low=low),
                    name=f"heat-map-{side.letter.lower()}",
                    alt_text="Cosine similarity of every pair of sentences under model "
                    f"{side.letter}",
                )
        if len(sides) > 1:
            _differences(sentences, sides[1].cosines - sides[0].cosines)
    pairs = _sorted_pairs(sentences, sides)
    table(pairs, sides)
    download(["first", "second"], pairs, sides)


def _differences(sentences: Sequence[str], change: np.ndarray) -> None:
    with st.container(width=MAP_WIDTH):
        st.text("B minus A")
        plot.chart_to_save(
            partial(charts.difference, change, sentences),
            name="difference",
            alt_text="Difference between the models' cosines for every pair of sentences",
        )
    row, column = divmod(int(np.abs(change).argmax()), len(sentences))
    direction = "closer together" if change[row, column] > 0 else "further apart"
    with st.container(width=MAP_WIDTH):
        st.text(
            f"The models differ most on:\n\n“{sentences[row]}”\n“{sentences[column]}”\n\nB puts "
            f"them {direction}, by {abs(float(change[row, column])):.3f}."
        )


def _sorted_pairs(
    sentences: Sequence[str], sides: Sequence[ComparedModel]
) -> list[tuple[Any, ...]]:
    """Every pair of sentences: the largest differences first; for one model, the most similar."""
    first, last = sides[0].cosines, sides[-1].cosines
    both = len(sides) > 1
    places = sorted(
        combinations(range(len(sentences)), 2),
        key=lambda at: -abs(last[at] - first[at]) if both else -first[at],
    )
    return [(sentences[i], sentences[j], *(s.cosines[i, j] for s in sides)) for i, j in places]


# -- Groups of four sentences under two models, as in the paper's Figure 1 ------------------------


_MESSAGE = (
    "A group is ranked correctly when the sentence that contradicts the anchor is less similar to "
    "it than the other two."
)

_MARGIN = (
    "Margin: the lower of the other two sentences' similarities minus that of the contradicting "
    "sentence. It is negative if the group is ranked incorrectly."
)


def show_groups(
    name: str,
    probes: Sequence[ProbePair],
    groups: Sequence[ProbeGroup],
    sides: Sequence[ComparedModel],
) -> None:
    """How well each model ranks the groups of a set: numbers, means by role, and every group."""
    if len(groups) == 1:
        st.text(_MESSAGE)
        _figure(probes, groups[0], sides)
        return
    _accuracy(groups, sides)
    rows = [
        charts.RoleRow(role, side.label, group.anchor, probes[at].text, side.cosines[at])
        for role in ROLES
        for side in sides
        for group in groups
        for at in (group.rows[role],)
    ]
    plot.chart_to_save(
        partial(charts.roles, rows, first=sides[0].label),
        name="roles",
        alt_text="Mean cosine similarity between the anchors and the sentences that contradict, "
        "weaken and affirm them, by model, with each group as a line",
    )
    st.caption("Bars and numbers: means. Thin lines: individual groups.")
    _scores(groups, sides)
    if name == GROUPS_SET:
        _by_kind(groups, sides)
    _one_group(name, probes, groups, sides)


def _accuracy(groups: Sequence[ProbeGroup], sides: Sequence[ComparedModel]) -> None:
    """Ranking accuracy as large numbers, with an explanation."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for side in sides:
            ranked = score(groups, side.cosines).ranked
            st.metric(f"Ranked correctly by {side.letter}", f"{ranked:.0%}", width=175)
        st.text(f"{_MESSAGE} Chance is a third of the {len(groups):,} groups.", width=520)


def _scores(groups: Sequence[ProbeGroup], sides: Sequence[ComparedModel]) -> None:
    """All metrics over the groups, as a table."""
    found = {side.letter: score(groups, side.cosines) for side in sides}
    table = {
        "Contradicted below weakened": [s.below_weakened for s in found.values()],
        "Contradicted below affirmed": [s.below_affirmed for s in found.values()],
        **{f"Mean cosine, {role}": [s.means[role] for s in found.values()] for role in ROLES},
        "Mean margin": [s.margin for s in found.values()],
    }
    with st.expander("Show the numbers", icon=":material/table:"):
        st.dataframe(
            [{"Metric": name} | _row(name, values, list(found)) for name, values in table.items()],
            hide_index=True,
        )
        st.caption(f"The first two rows are shares of the groups. Chance is 50%. {_MARGIN}")


def _row(name: str, values: Sequence[float], letters: Sequence[str]) -> dict[str, str]:
    """The cells of a row: shares as percentages, cosines with three decimals."""
    share = " below " in name
    cells = [f"{value:.0%}" if share else decimal(value, DIGITS) for value in values]
    row = dict(zip(letters, cells, strict=True))
    if len(values) > 1:
        change = values[1] - values[0]
        points = f"{decimal(change * 100, 0, sign=True)} points"
        row[DIFFERENCE] = points if share else decimal(change, DIGITS, sign=True)
    return row


def _by_kind(groups: Sequence[ProbeGroup], sides: Sequence[ComparedModel]) -> None:
    """Ranking accuracy by construction of the bundled groups."""
    by_anchor = {group.anchor: group for group in groups}
    kinds: defaultdict[tuple[int, int, str], list[ProbeGroup]] = defaultdict(list)
    for made in bundled_groups():
        for kind in _kinds(made):
            kinds[kind].append(by_anchor[made.anchor])
    with st.expander("Ranked correctly, by construction", icon=":material/category:"):
        st.dataframe(
            [
                {"Construction": kind[-1], "Groups": len(kinds[kind])}
                | {s.letter: f"{score(kinds[kind], s.cosines).ranked:.0%}" for s in sides}
                for kind in sorted(kinds)
            ],
            hide_index=True,
        )


def _kinds(made: BundledGroup) -> list[tuple[int, int, str]]:
    """How a group's sentences are made: sort keys of the role and the type, and a label."""
    types = (made.negation, "word" if made.cue in HEDGE_CUES["word"] else "phrase")
    kinds = [
        (place, variant_type(type_id).order, f"{role.capitalize()}: {variant_type(type_id).label}")
        for place, (role, type_id) in enumerate(zip(ROLES, types, strict=False))
    ]
    emphasis = made.affirmed_by == "emphasis"
    by = "Emphasis with a negator" if emphasis else variant_type(made.affirmed_by).label
    return [*kinds, (len(kinds), int(emphasis), f"{AFFIRMED.capitalize()}: {by}")]


@error_messages.fragment
def _one_group(
    name: str,
    probes: Sequence[ProbePair],
    groups: Sequence[ProbeGroup],
    sides: Sequence[ComparedModel],
) -> None:
    """A table of the groups, and a chart of the selected one as in Figure 1."""
    margins = {side.letter: [_margin(group, side) for group in groups] for side in sides}
    first, last = margins[sides[0].letter], margins[sides[-1].letter]
    change = [after - before for before, after in zip(first, last, strict=True)]
    key = [-abs(value) for value in change] if len(sides) > 1 else first
    order = sorted(range(len(groups)), key=lambda at: key[at])
    st.header("Groups", anchor=False)
    topics = {made.anchor: made.topic for made in bundled_groups()}
    table = [
        {"Anchor": groups[at].anchor}
        | {f"Margin {letter}": values[at] for letter, values in margins.items()}
        | ({DIFFERENCE: change[at]} if len(sides) > 1 else {})
        | {f"Correct {letter}": values[at] > 0 for letter, values in margins.items()}
        | ({"Topic": topics.get(groups[at].anchor, "")} if name == GROUPS_SET else {})
        for at in order
    ]
    # One key per sort order: the same row number means another group in another order.
    event = st.dataframe(
        tables.decimals(table, DIGITS, signed=[DIFFERENCE]),
        hide_index=True,
        height=320,
        key=f"compare-groups-{hash((name, *order))}",
        column_config={"Anchor": st.column_config.TextColumn(width=260)},
        on_select="rerun",
        selection_mode="single-row",
    )
    st.caption(f"{_MARGIN} Select a row to see its sentences.")
    row = event.selection.rows[0] if event.selection.rows else 0
    _figure(probes, groups[order[row]], sides)


def _verdict(group: ProbeGroup, side: ComparedModel) -> str:
    margin = _margin(group, side)
    ranked = "correctly" if margin > 0 else "incorrectly"
    return f"Ranked {ranked} by {side.label} (margin {decimal(margin, 2, sign=True)})."


def _margin(group: ProbeGroup, side: ComparedModel) -> float:
    return score([group], side.cosines).margin


def _figure(probes: Sequence[ProbePair], group: ProbeGroup, sides: Sequence[ComparedModel]) -> None:
    with st.container(border=True, key="compare-group"):
        st.text(f"Anchor: {group.anchor}\n{' '.join(_verdict(group, side) for side in sides)}")
        rows = [
            ProbeRow(*probes[at], side.label, side.cosines[at], published=False)
            for role in ROLES
            for side in sides
            for at in (group.rows[role],)
        ]
        plot.chart_to_save(
            partial(similarity_bars.figure_1, rows, first=sides[0].label),
            name="group",
            alt_text="Cosine similarity between the anchor and the sentences that contradict, "
            "weaken and affirm it, by model",
        )
