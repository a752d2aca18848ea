"""The Compare page's view of a measured set or of measured sentences.

Tables call the models A and B, as in the boxes above; charts name them, because they can be saved.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import streamlit as st

from pages.components.compare import group_charts
from pages.components.compare.common import ComparedModel, download, drawn, table
from pages.components.compare.groups_of_four import show_groups
from pages.components.shared.charts import similarity_bars
from training.evaluation.probe_groups import find_groups
from training.evaluation.probe_sets import OpenSet
from training.evaluation.similarity import ProbePair, ProbeRow

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
    _download_pairs(probes, sides)


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
    drawn(
        lambda dark: similarity_bars.own_probes(rows, dark=dark, first=sides[0].label),
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


def _download_pairs(probes: Sequence[ProbePair], sides: Sequence[ComparedModel]) -> None:
    header = ["anchor", "text", "label"]
    rows = [(*probe, *(side.cosines[at] for side in sides)) for at, probe in enumerate(probes)]
    download(header, rows, sides)


def show_sentences(sentences: Sequence[str], sides: Sequence[ComparedModel]) -> None:
    """Heat maps of all pairs of sentences on one scale, and the difference between the models."""
    low = group_charts.shared_low([side.cosines for side in sides])
    with st.container(horizontal=True, gap="medium"):
        for side in sides:
            with st.container(width=MAP_WIDTH):
                st.text(f"{side.letter}: {side.label}")
                _heat_map(side, sentences, low=low)
        if len(sides) > 1:
            _differences(sentences, sides[1].cosines - sides[0].cosines)
    pairs = _sorted_pairs(sentences, sides)
    table(pairs, sides)
    download(["first", "second"], pairs, sides)


def _differences(sentences: Sequence[str], change: np.ndarray) -> None:
    with st.container(width=MAP_WIDTH):
        st.text("B minus A")
        drawn(
            lambda dark: group_charts.difference(change, sentences, dark=dark),
            name="difference",
            alt_text="Difference between the models' cosines for every pair of sentences",
        )
    with st.container(width=MAP_WIDTH):
        st.text(_widest(sentences, change))


def _heat_map(side: ComparedModel, sentences: Sequence[str], *, low: float) -> None:
    drawn(
        lambda dark: group_charts.heat_map(side.cosines, sentences, low=low, dark=dark),
        name=f"heat-map-{side.letter.lower()}",
        alt_text=f"Cosine similarity of every pair of sentences under model {side.letter}",
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


def _widest(sentences: Sequence[str], change: np.ndarray) -> str:
    """The pair with the largest difference between the models, in words."""
    row, column = divmod(int(np.abs(change).argmax()), len(sentences))
    direction = "closer together" if change[row, column] > 0 else "further apart"
    return (
        f"The models differ most on:\n\n“{sentences[row]}”\n“{sentences[column]}”\n\nB puts them "
        f"{direction}, by {abs(float(change[row, column])):.3f}."
    )
