"""The text that the release and the bundled texts share with benchmarks, before training."""

from collections.abc import Sequence

import streamlit as st

from curation.release.freezing import get_release
from curation.release.overlap_results import OverlapWithTest, description
from pages.components.shared.runs import overlap_found
from pages.components.shared.shell import open_project
from pages.components.shared.shell.count_cache import follow_making
from training.benchmarks.contamination import bundled_texts_description

MOST_LINES = 4


def draw(number: int | None, *, held: bool) -> None:
    """The lines for a release; nothing without a release or a benchmark file.

    Args:
        held: whether the recipe uses retention with the bundled texts.
    """
    if number is None:
        return
    release = open_project.ask(get_release, number)
    found = overlap_found.compared(release)
    bundled = overlap_found.bundled_texts_compared() if held else []
    if found is None or bundled is None:
        follow_making("Comparing the release with the benchmarks' texts …")
        return
    with st.container(key="train-overlap", gap="xxsmall"):
        for line in lines(found):
            st.text(line)
        if sentence := bundled_texts_description([entry.facts for entry in bundled]):
            st.text(sentence)
    if any(entry.overlap.examples for entry in found):
        with st.expander("Overlap between the release and the benchmarks", icon=":material/join:"):
            overlap_found.examples(found)


def lines(found: Sequence[OverlapWithTest]) -> list[str]:
    """One sentence for each, the largest overlap first; one more for the rest."""
    shared = [entry for entry in found if entry.problem or entry.shares]
    shared.sort(key=lambda entry: -entry.overlap.share)
    sentences = [description(entry.facts) for entry in shared]
    if len(sentences) > MOST_LINES:
        rest = len(sentences) - MOST_LINES
        sentences = [*sentences[:MOST_LINES], f"{rest} more overlap. See Benchmarks · Overlap."]
    clean = [entry for entry in found if entry not in shared]
    if len(clean) == 1:
        sentences.append(description(clean[0].facts))
    elif clean:
        names = ", ".join(dict.fromkeys(entry.title for entry in clean))
        n = clean[0].overlap.n
        sentences.append(
            f"{len(clean)} benchmark files ({names}) have no item that shares {n} consecutive "
            "words with the release."
        )
    return sentences
