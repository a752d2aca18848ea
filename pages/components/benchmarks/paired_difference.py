"""Paired test of two models on the same items."""

from collections.abc import Mapping, Sequence

import streamlit as st

from curation.formatting import counted
from db.errors import HedgerowError
from pages.components.shared.shell import error_messages, open_project
from training.benchmarks.results.queries import ModelKey, Scored, by_column, paired
from training.benchmarks.results.statistics import PairedTest

SURE = 0.05

_TESTS = {
    "McNemar": "exact McNemar test",
    "permutation": "permutation test",
}


def draw(
    rows: Sequence[Scored], titles: Mapping[str, str], trained_from: Mapping[ModelKey, ModelKey]
) -> None:
    """Choose a column and two of its models, and test their difference.

    Args:
        titles: column titles by key.
        trained_from: as returned by ``bases``; such a pair is the default.
    """
    keys = [key for key in titles if len(_measured(rows, key)) > 1]
    if not keys:
        return
    st.header("Do two models differ?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", key="bench-paired"):
        names = {titles[key]: key for key in keys}
        column = names[st.selectbox("Benchmark", list(names), key="bench-paired-of")]
        models = {row.title: row for row in _measured(rows, column)}
        start = _proposed(models, trained_from)
        first, second = (
            st.selectbox(label, list(models), index=at, key=f"bench-paired-{label}-{column}")
            for label, at in zip(("First", "Second"), start, strict=True)
        )
    if first == second:
        st.text("Choose two different models.")
        return
    try:
        with st.spinner("Testing …"):
            found = paired(open_project.settings().data_folder, models[first], models[second])
    except HedgerowError as error:
        error_messages.show(str(error), key="bench-paired")
        return
    st.text(_in_words(found.comparison, first, second))


def _proposed(
    models: Mapping[str, Scored], trained_from: Mapping[ModelKey, ModelKey]
) -> tuple[int, int]:
    """The indices of a base model and a model trained from it, or else of the two newest."""
    keys = [row.model_key for row in models.values()]
    for at, key in enumerate(keys):
        if trained_from.get(key) in keys:
            return keys.index(trained_from[key]), at
    return 1, 0


def _measured(rows: Sequence[Scored], column: str) -> list[Scored]:
    """The results of a column whose items are stored."""
    return [row for row in by_column(rows, column).values() if row.file]


def _in_words(found: PairedTest, first: str, second: str) -> str:
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    sure = "statistically significant" if found.p < SURE else "not statistically significant"
    points = f"{abs(found.difference):.1f} points"
    than = "higher" if found.difference > 0 else "lower"
    scores = f"scores {points} {than} than" if found.difference else "scores the same as"
    text = (
        f"{second} {scores} {first}. The difference is {sure} ({p}, two-sided "
        f"{_TESTS[found.test]})."
    )
    if found.better is not None and found.worse is not None:
        better, worse = counted(found.better, "item"), f"{found.worse:,}"
        text += f" On {better}, only {second} is right; on {worse}, only {first} is."
    return text
