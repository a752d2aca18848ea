"""Benchmarks: how well a model handles negation, what that cost, and which items it gets wrong."""

import streamlit as st

from curation.release.freezing import get_release, release_numbers
from curation.release.overlap import SHORTEST
from pages.components.benchmarks import (
    items_section,
    models_choice,
    names,
    scores_section,
    start_run,
)
from pages.components.shared import links, overlap_found, prompt_editor
from pages.components.shared.shell import count_cache, frame, open_project
from training.benchmarks.contamination import known

# -- Contamination: how much of each benchmark's text is in a release -----------------------------


# Range of consecutive words; more would be nearly whole sentences.
LONGEST = 20


def _overlap() -> None:
    """The release, the number of consecutive words, the numbers, and the texts."""
    numbers = open_project.ask(release_numbers)
    if not numbers:
        links.no_release("There is no release to compare with benchmarks yet.")
        return
    if not known(open_project.settings().data_folder):
        links.no_results(
            "There is no benchmark data yet. Add a file under Run. You don't have to run the "
            "benchmark.",
            section=names.RUN,
            key=names.SECTION,
        )
        return
    _compare(numbers)


def _compare(numbers: list[int]) -> None:
    with st.container(horizontal=True, key="overlap-fields"):
        number = st.selectbox("Release", numbers, key="overlap-release", bind="query-params")
        n = st.number_input(
            "Consecutive words",
            SHORTEST,
            LONGEST,
            SHORTEST,
            key="overlap-n",
            bind="query-params",
            help="An item overlaps if one of its texts shares this many consecutive words with a "
            "text of the release. Case and punctuation are ignored. Even unrelated texts often "
            "share sequences of up to four words.",
        )
    release = open_project.ask(get_release, number)
    found = overlap_found.compared(release, n=int(n))
    if found is None:
        count_cache.follow_making("Comparing … This takes several seconds for a large release.")
        return
    chosen = overlap_found.table(found)
    st.caption(
        "Compares the release (anchors and variants of all splits) with every benchmark file in "
        "this project. A model's scores on items that it was trained on say little. mteb tasks "
        "are not compared. Select a row to see only its texts."
    )
    overlap_found.by_field(chosen)
    overlap_found.examples(chosen)
    overlap_found.download(release, found, n=int(n))


frame.begin(
    "Benchmarks",
    "Measure how well a model handles negation, what it loses elsewhere, and which items "
    "it gets wrong.",
)
prompt_editor.ensure()
section = frame.section(names.SECTIONS, key=names.SECTION)
match section:
    case names.SCORES:
        scores_section.draw()
    case names.ITEMS:
        items_section.draw()
    case names.OVERLAP:
        _overlap()
    case names.PROMPTS:
        models_choice.prompts_section()
    case _:
        start_run.draw()
