"""Benchmarks: does a model understand negation, what did it cost, and where does it err."""

import streamlit as st

from pages.components import (
    benchmarks_look,
    benchmarks_overlap,
    benchmarks_scores,
    benchmarks_start,
    benchmarks_words,
    frame,
)
from pages.components.benchmarks_words import SECTION, SECTIONS

frame.begin(
    "Benchmarks", "See how well a model handles negation, what else it lost, and where it errs."
)
section = st.segmented_control(
    "Section",
    SECTIONS,
    key=SECTION,
    default=SECTIONS[0],
    required=True,
    bind="query-params",
    label_visibility="collapsed",
)
match section:
    case benchmarks_words.SCORES:
        benchmarks_scores.draw()
    case benchmarks_words.ITEMS:
        benchmarks_look.draw()
    case benchmarks_words.OVERLAP:
        benchmarks_overlap.show()
    case _:
        benchmarks_start.draw()
