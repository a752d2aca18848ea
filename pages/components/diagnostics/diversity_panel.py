"""Diversity of hedge cues and negators, with their entropy."""

from collections import Counter
from collections.abc import Mapping

import altair as alt
import streamlit as st

from curation.diagnostics import cue_use
from curation.formatting import counted
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import listed_cues
from pages.components.diagnostics.scope_of_page import PageView, counting
from pages.components.shared.charts import plot, shares
from pages.components.shared.charts.palette import palette
from pages.components.shared.shell import open_project

TOP = 20
"""Maximum number of bars in a ranking."""

SAMPLE = 3_000
"""Maximum number of variants to search for negators."""


def draw(view: PageView) -> None:
    """Show the section."""
    types = [t for t in open_project.types() if not view.scope.types or t.id in view.scope.types]
    st.text(
        "Entropy measures diversity: 3 bits correspond to eight equally frequent words. Evenness "
        "is the entropy divided by its maximum; it is 1 if all words are equally frequent."
    )
    _cues(view, [entry for entry in types if entry.needs_cue])
    _negators(view, [entry for entry in types if entry.role != "hedge"])


def _cues(view: PageView, types: list[VariantType]) -> None:
    if not types:
        return
    st.header("Hedge cues", anchor=False)
    rows = view.counts.get(cue_use.cue_counts, view.scope.source_id)
    if rows is None:
        counting()
        return
    rankings = st.container(key="rankings-cues")
    for entry in types:
        with rankings.container():
            _cues_of_type(view, entry, cue_use.cues_of(rows, view.scope, entry.id))


def _cues_of_type(view: PageView, entry: VariantType, cues: Counter[str]) -> None:
    st.text(f"{entry.label}: {_in_words(cue_use.diversity(cues), 'cue')}")
    use = cue_use.list_use(cues, listed_cues(entry))
    whose = "its own" if entry.own else "the paper's"
    if use is not None:
        listed = len(use.used) + len(use.unused)
        others = f"; not on the list: {len(use.others)}" if use.others else ""
        st.text(f"Used: {len(use.used)} of the {counted(listed, 'cue')} on {whose} list{others}.")
    if cues:
        _ranking(view, entry, cues, name="cues", what="cue")
    if use is not None and use.unused:
        with st.expander(f"Not used: {len(use.unused)}", icon=":material/playlist_remove:"):
            st.text(", ".join(use.unused))
    if use is not None and use.others:
        with st.expander(f"Not on {whose} list: {len(use.others)}"):
            st.text(", ".join(use.others[:200]))


def _negators(view: PageView, types: list[VariantType]) -> None:
    if not types:
        return
    st.header("Negators and negative affixes", anchor=False)
    ids = tuple(entry.id for entry in types)
    found = view.counts.get(cue_use.negators, view.scope, type_ids=ids, sample=SAMPLE)
    if found is None:
        counting()
        return
    st.caption(_drawn_from(found))
    rankings = st.container(key="rankings-negators")
    for entry in types:
        with rankings.container():
            _negators_of_type(view, entry, found)


def _drawn_from(found: cue_use.NegatorSample) -> str:
    looked_at = found.sampled.total()
    which = f"all {found.of:,} variants"
    if looked_at < found.of:
        which = f"a sample of {looked_at:,} of {found.of:,} variants"
    return f"Counted in {which}. Negators that are also in the anchor are left out."


def _negators_of_type(view: PageView, entry: VariantType, found: cue_use.NegatorSample) -> None:
    counts = found.by_type.get(entry.id, Counter())
    named = {value: number for value, number in counts.items() if value}
    sampled = found.sampled[entry.id]
    having = sampled - counts.get("", 0)
    st.text(
        f"{entry.label}: {_in_words(cue_use.diversity(named), 'negator')} {having:,} of "
        f"{counted(sampled, 'variant')} {'has' if having == 1 else 'have'} a negator."
    )
    if named:
        _ranking(view, entry, named, name="negators", what="negator")


def _in_words(found: cue_use.Diversity, what: str) -> str:
    if not found.total:
        return f"no {what} in the selection."
    evenness = "" if found.evenness is None else f", evenness {found.evenness:.2f}"
    kinds = counted(found.distinct, what if found.distinct == 1 else f"different {what}")
    return f"{kinds}, entropy {found.entropy:.2f} bits{evenness}."


def _ranking(
    view: PageView, entry: VariantType, counts: Mapping[str, int], *, name: str, what: str
) -> None:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ordered[:TOP]

    def figure(*, dark: bool) -> alt.LayerChart:
        return shares.ranking(
            shown,
            of=sum(counts.values()),
            name=what,
            title="variants",
            colour=palette(dark=dark).roles.get(entry.role, palette(dark=dark).after),
            dark=dark,
        )

    plot.chart_to_save(
        figure,
        name=f"{name}-{entry.id}",
        alt_text=f"Bar chart: number of variants per {what}",
    )
    if len(ordered) > TOP:
        st.caption(f"The {TOP} most frequent of {len(ordered):,}.")
