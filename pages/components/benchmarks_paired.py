"""Whether two models differ on the same items."""

from collections.abc import Mapping, Sequence

import streamlit as st

from db.errors import HedgerowError
from pages.components import errors, project
from training.benchmark_results import Scored, by_column, paired
from training.benchmarks.statistics import Comparison

SURE = 0.05

_TESTS = {
    "McNemar": "McNemar's exact test",
    "permutation": "permutation test",
}


def draw(rows: Sequence[Scored], titles: Mapping[str, str]) -> None:
    """Choose a column and two models of it; say how they differ.

    Args:
        titles: of the columns, by their keys.
    """
    keys = [key for key in titles if len(_measured(rows, key)) > 1]
    if not keys:
        return
    st.header("Do two models differ?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-paired"):
        names = {titles[key]: key for key in keys}
        column = names[st.selectbox("Benchmark", list(names), key="bench-paired-of")]
        models = {row.title: row for row in _measured(rows, column)}
        first = st.selectbox("First", list(models), index=1, key=f"bench-paired-first-{column}")
        second = st.selectbox("Second", list(models), key=f"bench-paired-second-{column}")
    if first == second:
        st.text("Choose two different models.")
        return
    try:
        found = paired(project.settings().data_folder, models[first], models[second])
    except HedgerowError as error:
        errors.show(str(error), key="bench-paired")
        return
    st.text(_in_words(found.comparison, first, second))


def _measured(rows: Sequence[Scored], column: str) -> list[Scored]:
    """The results of a column whose items are kept."""
    return [row for row in by_column(rows, column).values() if row.file]


def _in_words(found: Comparison, first: str, second: str) -> str:
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    sure = "more than chance gives" if found.p < SURE else "no more than chance may give"
    said = (
        f"{second} scores {found.difference:+.1f} points against {first}: {sure} ({p}, two-sided "
        f"{_TESTS[found.test]})."
    )
    if found.better is not None and found.worse is not None:
        said += (
            f" Only {second} is right on {found.better:,} items, only {first} on {found.worse:,}."
        )
    return said
