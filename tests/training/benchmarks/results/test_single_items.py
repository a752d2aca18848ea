"""Single items of results: filters and content."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.benchmarks.definition import Result
from training.benchmarks.results.single_items import (
    BOTH,
    NEITHER,
    ONLY_FIRST,
    ONLY_SECOND,
    ItemFilter,
    as_table,
    compared,
    grades,
    items,
    nearest,
    right_candidates,
)
from training.benchmarks.tasks.cannot import Cannot
from training.benchmarks.tasks.nevir import NevIR, pair
from training.benchmarks.tasks.own_families import FamilyText, Hedgerow, Kin
from training.benchmarks.tasks.scored_pairs import ScoredPair
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg

ENTRIES = [
    Entry("a", "It is not hot.", ("It is not cold.", "It is hot.", "It is cold.")),
    Entry("b", "It is not wide.", ("It is not narrow.", "It is wide.", "It is narrow.")),
    Entry("c", "It is not old.", ("It is not new.", "It is old.", "It is new.")),
]


def semantoneg(*scores: list[float]) -> Result:
    return SemAntoNeg(ENTRIES).evaluate([np.array(row) for row in scores])


FIRST = semantoneg([0.1, 0.2, 0.9], [0.9, 0.2, 0.1], [0.1, 0.8, 0.2])
SECOND = semantoneg([0.9, 0.2, 0.1], [0.1, 0.2, 0.9], [0.1, 0.8, 0.2])


def keys(first: Result, second: Result | None = None, **wanted: object) -> list[str]:
    return [item.first.key for item in items(first, second, wanted=ItemFilter(**wanted))]  # type: ignore[arg-type]


def test_items_are_chosen_by_outcome_part_text_and_by_which_model_is_right() -> None:
    assert keys(FIRST) == ["a", "b", "c"]
    assert keys(FIRST, outcome="negation") == ["c"]
    assert keys(FIRST, part=("antonyms", "narrow / wide")) == ["b"]
    assert keys(FIRST, text="NARROW") == ["b"]
    chosen = {
        name: keys(FIRST, SECOND, agreement=name)
        for name in (ONLY_FIRST, ONLY_SECOND, BOTH, NEITHER)
    }
    assert chosen == {ONLY_FIRST: ["a"], ONLY_SECOND: ["b"], BOTH: [], NEITHER: ["c"]}


def test_the_nearest_wrong_text_is_found() -> None:
    (right, antonym, negated) = FIRST.rows
    assert right_candidates(right) == {"both"}
    found = [nearest(row) for row in (right, antonym, negated)]
    assert [one.candidate for one in found if one] == ["negation", "antonym", "negation"]
    kin = Kin(
        "uid",
        "It is cold.",
        (FamilyText("word", "Maybe cold."), FamilyText("word", "Likely cold.")),
        (FamilyText("verbal", "Not cold."), FamilyText("lexical", "It is warm.")),
    )
    (row,) = Hedgerow([kin]).evaluate([np.array([0.9, 0.5, 0.6, 0.8])]).rows
    assert right_candidates(row) == {"word", "word 2"}
    wrong = nearest(row)
    assert wrong is not None and (wrong.candidate, wrong.score) == ("lexical", 0.8)


def test_each_text_of_a_family_keeps_its_own_score() -> None:
    """Variants of a type need not be next to each other in a release."""
    kin = Kin(
        "uid",
        "It is cold.",
        (FamilyText("word", "w1"), FamilyText("phrase", "p"), FamilyText("word", "w2")),
        (FamilyText("verbal", "v"),),
    )
    (row,) = Hedgerow([kin]).evaluate([np.array([0.1, 0.2, 0.3, 0.4])]).rows
    scores = {row.texts[one.candidate]: one.score for one in compared(row)}
    assert scores == {"w1": 0.1, "p": 0.2, "w2": 0.3, "v": 0.4}


def test_both_queries_of_a_pair_are_compared_with_both_documents() -> None:
    item = pair("1-2", ("q one", "q two"), ("It is open.", "It is not open."))
    (row,) = NevIR([item]).evaluate([np.array([0.1, 0.2]), np.array([0.3, 0.4])]).rows
    assert [tuple(one) for one in compared(row)] == [
        ("q1", "doc1", 0.1),
        ("q1", "doc2", 0.2),
        ("q2", "doc1", 0.3),
        ("q2", "doc2", 0.4),
    ]
    assert nearest(row) is None


def scored(gold: list[float], given: list[float]) -> Result:
    pairs = [ScoredPair(str(n), f"first {n}", f"second {n}", g) for n, g in enumerate(gold)]
    return Cannot(pairs).evaluate([np.array([value]) for value in given])


def test_pairs_whose_order_is_most_wrong_come_first() -> None:
    result = scored([1, 2, 3, 4], [0.4, 0.1, 0.2, 0.3])
    assert keys(result)[0] == "0"
    missing = scored([1, 2, 3], [0.3, float("nan"), 0.1])
    assert keys(missing)[-1] == "1"


def test_the_grade_of_a_negative_zero_is_0() -> None:
    assert [grade.name for grade in grades(scored([-0.0, 1.0], [0.1, 0.2]))] == ["1", "0"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(0, 1), min_size=1, max_size=60))
def test_every_answered_pair_is_in_one_grade(gold: list[float]) -> None:
    result = scored(gold, [float(n) for n in range(len(gold))])
    found = grades(result)
    assert sum(grade.n for grade in found) == len(gold)
    assert all(list(grade.quantiles) == sorted(grade.quantiles) for grade in found)


def test_a_table_has_texts_and_both_models_scores() -> None:
    head, rows = as_table(items(FIRST, SECOND))
    first = dict(zip(head, rows[0], strict=True))
    assert (first["item"], first["input"], first["outcome"], first["outcome 2"]) == (
        "a",
        "It is not hot.",
        "both",
        "antonym",
    )
    assert first["score input : both"] == pytest.approx(0.9)
    assert first["score 2 input : both"] == pytest.approx(0.1)
    assert as_table([]) == (["item"], [])
