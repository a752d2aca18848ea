"""Models' results: item by item, shared errors, files, intervals, and tests of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import SENTENCES
from training.benchmarks.definition import Result
from training.benchmarks.results.common_errors import common_errors, error_table
from training.benchmarks.results.saved import read_result, write_result
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
from training.benchmarks.results.statistics import compare, interval, places
from training.benchmarks.tasks.common_forms import Cannot, ScoredPair
from training.benchmarks.tasks.excluir import ExcluIR, Exclusion
from training.benchmarks.tasks.nevir import NevIR, pair
from training.benchmarks.tasks.own_families import FamilyText, Hedgerow, Kin
from training.benchmarks.tasks.semantoneg import Entry, SemAntoNeg, entries, suite
from training.evaluation.held_out import Forms

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
        (FamilyText("word", "w1"), FamilyText("phrase", "p"), FamilyText("word", "w2")),
        (FamilyText("verbal", "v"), FamilyText("lexical", "l")),
    )
    (row,) = Hedgerow([kin]).evaluate([np.array([0.9, 0.5, 0.7, 0.6, 0.8])]).rows
    assert right_candidates(row) == {"word", "phrase", "word 2"}
    wrong = nearest(row)
    assert wrong is not None and (wrong.candidate, wrong.score) == ("lexical", 0.8)
    scores = {row.texts[one.candidate]: one.score for one in compared(row)}
    assert scores == {"w1": 0.9, "p": 0.5, "w2": 0.7, "v": 0.6, "l": 0.8}, "each keeps its own"
    item = pair("1-2", ("q one", "q two"), ("It is open.", "It is not open."))
    (row,) = NevIR([item]).evaluate([np.array([0.1, 0.2]), np.array([0.3, 0.4])]).rows
    assert [tuple(one) for one in compared(row)] == [
        ("q1", "doc1", 0.1),
        ("q1", "doc2", 0.2),
        ("q2", "doc1", 0.3),
        ("q2", "doc2", 0.4),
    ]
    assert nearest(row) is None


DATA = suite([Forms(*forms) for forms in SENTENCES])
"""Twelve items, four of each pair of antonyms."""


def wrong_on(*wrong: int) -> Result:
    right = np.array([0.1, 0.2, 0.9])
    return DATA.evaluate([right[::-1] if n in wrong else right for n in range(len(DATA.items))])


MODELS = {"a": wrong_on(0, 1, 2, 3, 4), "b": wrong_on(1, 2, 3, 4, 8), "c": wrong_on(2, 3, 9)}


def test_a_written_result_is_read_back(tmp_path: Path) -> None:
    positive, negative = (FamilyText("word", "x\u2028y", "a"),), (FamilyText("verbal", "b"),)
    kin = [Kin(str(n), f"It is — {n}.", positive, negative) for n in range(3)]
    scores = [np.array(s) for s in ((0.9, 0.1), (0.1, 0.1), (np.nan, 0.2))]
    written = Hedgerow(kin).evaluate(scores)
    write_result(written, tmp_path / "r.jsonl")
    read = read_result(tmp_path / "r.jsonl")
    assert read.summary == written.summary and read.kind == written.kind
    assert np.isnan(read.rows[2].scores[0]) and read.rows[2].scores[1] == 0.2
    assert read.rows[:2] == written.rows[:2]
    assert replace(read.rows[2], scores=()) == replace(written.rows[2], scores=())
    (path,) = tmp_path.glob("r*")
    path.write_text(path.read_text("utf-8").replace(', "asked": {}', ""), encoding="utf-8")
    assert read_result(path).summary == written.summary, "as stored by an earlier version"


def shares(right: list[bool]) -> Result:
    items = [Exclusion(str(n), f"q{n}", "a", "b") for n in range(len(right))]
    return ExcluIR(items).evaluate([np.array([float(hit), 0.5]) for hit in right])


def grouped(right: list[bool]) -> Result:
    """Each group of four questions is right or wrong as a whole."""
    forms = [Forms(f"a{n}", f"b{n}", f"c{n}", f"d{n}") for n in range(len(right))]
    scores = [np.array([0.0, 0.5, float(hit)]) for hit in right for _ in range(4)]
    return SemAntoNeg(entries(forms)).evaluate(scores)


def correlation(gold: Sequence[float], given_scores: Sequence[float]) -> Result:
    items = [ScoredPair(str(n), f"a{n}", f"b{n}", float(g)) for n, g in enumerate(gold)]
    return Cannot(items).evaluate([np.array([score]) for score in given_scores])


def test_a_table_has_texts_and_both_models_scores() -> None:
    head, rows = as_table(items(FIRST, SECOND))
    first = dict(zip(head, rows[0], strict=True))
    found = [first[name] for name in ("item", "input", "outcome", "outcome 2")]
    assert found == ["a", "It is not hot.", "both", "antonym"]
    assert (first["score input : both"], first["score 2 input : both"]) == (0.9, 0.1)
    assert as_table([]) == (["item"], [])


def test_pairs_whose_order_is_most_wrong_come_first() -> None:
    assert keys(correlation([1, 2, 3, 4], [0.4, 0.1, 0.2, 0.3]))[0] == "0"
    assert keys(correlation([1, 2, 3], [0.3, float("nan"), 0.1]))[-1] == "1"


@given(st.lists(st.sampled_from([-1.0, -0.0, 0.5, 1.0]) | st.floats(0, 1), min_size=1, max_size=60))
def test_every_answered_pair_is_in_one_grade(gold: list[float]) -> None:
    found = grades(correlation(gold, range(len(gold))))
    assert sum(grade.n for grade in found) == len(gold)
    assert all(list(grade.quantiles) == sorted(grade.quantiles) for grade in found)
    assert "-0" not in [grade.name for grade in found]


def test_errors_of_several_models_and_their_parts() -> None:
    found = common_errors(MODELS)
    assert (found.models, found.items, found.least) == (("a", "b", "c"), 12, 3)
    assert [error.row.key for error in found.errors] == ["2", "3"]
    assert [tuple(part) for part in found.parts] == [("antonyms", "cold / hot", 2, 4)]
    assert found.by_count == (5, 3, 2, 2) and sum(found.by_count) == 12
    found = common_errors(MODELS, least=2)
    wrong = [(error.row.key, "".join(error.wrong)) for error in found.errors]
    assert wrong == [("2", "abc"), ("3", "abc"), ("1", "ab"), ("4", "ab")]
    parts = {part.part: (part.errors, part.items) for part in found.parts}
    assert parts == {"cold / hot": (3, 4), "narrow / wide": (1, 4)}
    head, rows = error_table(found)
    first = dict(zip(head, rows[0], strict=True))
    assert (first["item"], first["wrong"], first["of"]) == ("2", 3, 3)
    assert first["models"] == "a, b, c" and first["parts"] == "cold / hot"
    assert first["input"] == DATA.items[2].input
    for models, least, fact in (({"a": MODELS["a"]}, 1, "found 1"), (MODELS, 4, "1 to 3, found 4")):
        with pytest.raises(HedgerowError, match=fact):
            common_errors(models, least=least)


@pytest.mark.parametrize("content", [None, "", "{}", "[]\n[]", '{"benchmark": "x"}', "no"])
def test_a_file_that_holds_something_else(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "r.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(HedgerowError, match="Could not read" if content is None else "a stored"):
        read_result(tmp_path / "r.jsonl")


@pytest.mark.slow
def test_an_interval_is_near_the_normal_one_and_holds_the_score() -> None:
    from scipy.stats import norm

    result = shares([n % 10 < 3 for n in range(1_000)])
    half = 100 * norm.ppf(0.975) * np.sqrt(0.3 * 0.7 / 1_000)
    assert interval(result)[:2] == pytest.approx((30 - half, 30 + half), abs=0.5)
    assert interval(result) == interval(result), "the same seed"
    rng = np.random.default_rng(1)
    gold = rng.normal(size=300)
    result = correlation(gold, gold + rng.normal(size=300))
    found = interval(result)
    assert found.low < result.score < found.high and found.units == 300
    assert 8 < found.high - found.low < 20


def test_without_variation_the_interval_is_the_exact_binomial_one() -> None:
    """A bootstrap interval would be a single point, as if 20 items left no doubt."""
    right, wrong = interval(shares([True] * 20)), interval(shares([False] * 20))
    assert (right.low, right.high) == (pytest.approx(100 * 0.025 ** (1 / 20)), 100.0)
    assert (wrong.low, wrong.high) == (0.0, pytest.approx(100 - right.low))
    alone = interval(grouped([True]))
    assert (alone.units, alone.low) == (1, pytest.approx(2.5)), "one sentence, not four items"
    assert interval(correlation(range(20), range(20))).low == pytest.approx(100.0)
    with pytest.raises(HedgerowError, match="none"):
        interval(ExcluIR([]).evaluate([]))


@pytest.mark.slow
def test_groups_and_correlations_are_permuted_whatever_their_scale() -> None:
    from scipy.stats import spearmanr

    found = compare(grouped([False] * 6), grouped([True] * 6))
    assert (found.test, found.better, found.worse) == ("permutation", 24, 0)
    assert found.p == pytest.approx(2 / 2**6), "six groups, not 24 items"
    assert compare(grouped([False] * 6), grouped([False] * 6)).p == 1.0
    rng = np.random.default_rng(2)
    gold = rng.normal(size=80)
    good, bad, other = (gold + scale * rng.normal(size=80) for scale in (0.3, 5, 0.3))
    found = compare(correlation(gold, bad), correlation(gold, good))
    assert found.test == "permutation" and found.p < 0.01 and found.better is None
    expected = 100 * (spearmanr(gold, good).statistic - spearmanr(gold, bad).statistic)
    assert found.difference == pytest.approx(expected)
    assert compare(correlation(gold, good), correlation(gold, 9 * good + 4)).p == 1.0
    assert compare(correlation(gold, good), correlation(gold, other)).p > 0.05
    order, right = np.arange(6), [True, False] * 3
    items = [Exclusion(str(n), f"q{n}", "a", "b") for n in order[::-1]]
    turned = ExcluIR(items).evaluate([np.array([float(hit), 0.5]) for hit in right[::-1]])
    found = compare(shares(right), turned)
    assert (found.better, found.worse, found.p) == (0, 0, 1.0), "items are known by their texts"
    with pytest.raises(HedgerowError, match="different data"):
        compare(shares([True]), shares([True, False]))


def test_items_made_from_one_sentence_are_not_independent() -> None:
    right = [n % 2 == 0 for n in range(100)]
    alone = interval(shares([hit for hit in right for _ in range(4)]))
    together = interval(grouped(right))
    assert (alone.units, together.units) == (400, 100)
    assert together.high - together.low == pytest.approx(2 * (alone.high - alone.low), rel=0.15)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_mcnemar_is_the_exact_binomial_test_of_the_items_only_one_got_right(
    hits: list[tuple[bool, bool]],
) -> None:
    from scipy.stats import binomtest

    first, second = ([pair[side] for pair in hits] for side in (0, 1))
    found = compare(shares(first), shares(second))
    better, worse = hits.count((False, True)), hits.count((True, False))
    assert (found.test, found.better, found.worse) == ("McNemar", better, worse)
    expected = binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert found.p == pytest.approx(expected)
    turned = compare(shares(second), shares(first))
    assert turned.p == pytest.approx(found.p)
    assert turned.difference == pytest.approx(-found.difference)


def test_best_and_second_best() -> None:
    scores = {"a": 40.56, "b": 18.08, "c": 40.58, "d": 14.6, "e": 18.0}
    assert places(scores) == {"a": "best", "b": "second", "c": "best", "d": "", "e": ""}
    assert places(scores, decimals=2)["a"] == "second"
    assert places({"a": 1.0}) == {"a": ""} and places({}) == {}
    assert places({"a": 0.0, "b": 0.0}) == {"a": "", "b": ""}, "none of them got one right"
    assert places({"a": 3.0, "b": 0.04}) == {"a": "best", "b": ""}
    assert places({"a": 1.0, "b": 1.0}) == {"a": "best", "b": "best"}
