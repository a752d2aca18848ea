"""Groups of four sentences under two models, as in the paper's Figure 1."""

from collections.abc import Sequence

import streamlit as st

from curation.formatting import decimal
from curation.taxonomy.built_in import variant_type
from curation.taxonomy.cues import HEDGE_CUES
from pages.components.compare import group_charts
from pages.components.compare.common import (
    DIFFERENCE,
    DIGITS,
    ComparedModel,
    drawn,
)
from pages.components.shared.charts import similarity_bars
from pages.components.shared.formatting.decimals import decimals
from pages.components.shared.shell import error_messages
from training.evaluation.probe_groups import BundledGroup, ProbeGroup, bundled_groups, score
from training.evaluation.probe_sets import GROUPS_SET
from training.evaluation.similarity import AFFIRMED, ROLES, ProbePair, ProbeRow

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
        group_charts.RoleRow(role, side.label, group.anchor, probes[at].text, side.cosines[at])
        for role in ROLES
        for side in sides
        for group in groups
        for at in (group.rows[role],)
    ]
    drawn(
        lambda dark: group_charts.roles(rows, dark=dark, first=sides[0].label),
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
    kinds: dict[tuple[int, int, str], list[ProbeGroup]] = {}
    for made in bundled_groups():
        for kind in _kinds(made):
            kinds.setdefault(kind, []).append(by_anchor[made.anchor])
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
        decimals(table, DIGITS, signed=[DIFFERENCE]),
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
        drawn(
            lambda dark: similarity_bars.figure_1(rows, dark=dark, first=sides[0].label),
            name="group",
            alt_text="Cosine similarity between the anchor and the sentences that contradict, "
            "weaken and affirm it, by model",
        )
