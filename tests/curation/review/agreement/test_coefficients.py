"""Kappa and alpha: worked examples from the literature, and the results of other packages."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.review.agreement.coefficients import alpha, coincidences, kappa, observed

KRIPPENDORFF = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers, twelve units, with missing values: Krippendorff (2011), section C."""

BINARY = """
0 1 0 0 0 0 0 0 1 0
1 1 1 0 0 1 0 0 0 0
"""
"""Two observers, ten units: Krippendorff (2011), section A."""

CATEGORIES = 3
RATINGS = st.lists(
    st.lists(st.none() | st.integers(0, CATEGORIES - 1), min_size=3, max_size=3), max_size=12
)
"""Units with the values that three observers gave them; None for a missing value."""


def read(table: str) -> list[list[int | None]]:
    """Units of a table with one line per observer."""
    lines = [line.split() for line in table.strip().splitlines()]
    return [[None if v == "." else int(v) for v in unit] for unit in zip(*lines, strict=True)]


def alpha_of(units: list[list[int | None]], categories: int) -> float:
    counts = np.array([[unit.count(c) for c in range(categories)] for unit in units])
    counts = counts.reshape(-1, categories)
    return float(alpha(coincidences(counts[counts.sum(axis=-1) > 1]).sum(axis=0)))


def test_alpha_of_krippendorffs_worked_examples() -> None:
    assert alpha_of(read(KRIPPENDORFF), 6) == pytest.approx(0.743, abs=5e-4)
    assert alpha_of(read(BINARY), 2) == pytest.approx(0.095, abs=5e-4)


def test_kappa_of_a_worked_example() -> None:
    """Two readers judge 50 proposals: both yes 20, both no 15; 70% agree, 50% by chance."""
    assert float(kappa(np.array([[20, 5], [10, 15]]))) == pytest.approx(0.4)
    # Feinstein and Cicchetti (1990): 85% agree in both tables, but kappa differs widely.
    assert float(kappa(np.array([[40, 9], [6, 45]]))) == pytest.approx(0.70, abs=5e-3)
    assert float(kappa(np.array([[80, 10], [5, 5]]))) == pytest.approx(0.32, abs=5e-3)


@given(RATINGS)
def test_alpha_is_nltks(units: list[list[int | None]]) -> None:
    from nltk.metrics.agreement import AnnotationTask

    ours = alpha_of(units, CATEGORIES)
    several = [unit for unit in units if sum(value is not None for value in unit) > 1]
    if len({value for unit in several for value in unit if value is not None}) < 2:
        assert np.isnan(ours)
        return
    rows = [
        (str(who), str(number), value)
        for number, unit in enumerate(several)
        for who, value in enumerate(unit)
        if value is not None
    ]
    assert ours == pytest.approx(AnnotationTask(rows).alpha())


@given(st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_kappa_is_scikit_learns(cells: list[int]) -> None:
    from sklearn.metrics import cohen_kappa_score

    ours = float(kappa(np.array(cells).reshape(3, 3)))
    if np.isnan(ours):
        return  # nothing, or one category from both
    one, other = np.divmod(np.arange(9), 3)
    assert ours == pytest.approx(cohen_kappa_score(one, other, sample_weight=cells))


@given(RATINGS)
def test_the_order_of_observers_and_units_changes_nothing(units: list[list[int | None]]) -> None:
    ours = alpha_of(units, CATEGORIES)
    for order in permutations(range(3)):
        moved = [[unit[who] for who in order] for unit in reversed(units)]
        assert alpha_of(moved, CATEGORIES) == pytest.approx(ours, nan_ok=True)


@given(st.lists(st.integers(0, 1), min_size=2))
def test_full_agreement_is_1_if_both_categories_occur(values: list[int]) -> None:
    found = alpha_of([[value, value, value] for value in values], 2)
    if len(set(values)) < 2:
        assert np.isnan(found)
    else:
        assert found == 1


def test_leading_axes_are_computed_at_once() -> None:
    tables = np.array([[[20, 5], [10, 15]], [[0, 0], [0, 0]], [[3, 0], [0, 3]]])
    assert kappa(tables) == pytest.approx([0.4, np.nan, 1.0], nan_ok=True)
    assert observed(tables) == pytest.approx([0.7, np.nan, 1.0], nan_ok=True)
