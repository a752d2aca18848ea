"""Contamination: how much of each benchmark's text a release has in it."""

import streamlit as st

from curation.release.freezing import get_release, release_numbers
from curation.release.overlap import SHORTEST
from pages.components.shared.runs import overlap_found
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import follow_making
from training.benchmarks.contamination import known

LONGEST = 20
"""Words of a run; longer ones are all but whole sentences."""


def show() -> None:
    """The release, how many words in a row count, the figures, and the texts."""
    numbers = open_project.ask(release_numbers)
    if not numbers:
        st.text("There is no release yet whose texts could be compared with benchmarks.")
        st.page_link("pages/release.py", label="Make a release", icon=":material/inventory_2:")
        return
    if not known(open_project.settings().data_folder):
        st.text(
            "No benchmark's texts are known here yet. Add a file under Run; it need not be run to "
            "be compared."
        )
        return
    _compare(numbers)


def _compare(numbers: list[int]) -> None:
    with st.container(horizontal=True, key="overlap-fields"):
        number = st.selectbox("Release", numbers, key="overlap-release", bind="query-params")
        n = st.number_input(
            "Words in a row",
            SHORTEST,
            LONGEST,
            SHORTEST,
            key="overlap-n",
            bind="query-params",
            help="An item overlaps if one of its texts shares so many words in a row with a text "
            "of the release. Case and punctuation do not count. Fewer than five are phrases that "
            "any two texts share.",
        )
    release = open_project.ask(get_release, number)
    found = overlap_found.compared(release, n=int(n))
    if found is None:
        follow_making("Comparing. In a large release this takes some seconds …")
        return
    chosen = overlap_found.table(found)
    st.caption(
        "The texts of the release, anchors and variants of all splits, beside those of every "
        "benchmark file that is kept with this project. Scores on items that a model was trained "
        "on say little about it. The tasks of mteb are not compared. Select a row to see its texts "
        "alone."
    )
    overlap_found.by_field(chosen)
    overlap_found.examples(chosen, key="all")
    overlap_found.download(release, found, n=int(n))
