"""CANNOT and M3-Counterfactual: Spearman's correlation, compared with SciPy."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.errors import HedgerowError
from tests.training.benchmarks.support.samples import write_lines, write_table
from training.benchmarks.tasks.cannot import Cannot
from training.benchmarks.tasks.m3 import M3Counterfactual
from training.benchmarks.tasks.scored_pairs import PairColumns, ScoredPair

LABELLED = [("It works.", "It does not work.", 1), ("It works.", "It runs.", 0)]


def test_a_label_says_negated_and_a_score_says_alike(tmp_path: Path) -> None:
    path = write_table(tmp_path / "c.tsv", "premise\thypothesis\tlabel", LABELLED)
    assert [pair.score for pair in Cannot.read(path).items] == [-1.0, 0.0]
    scored = write_table(tmp_path / "w.tsv", "reference\tcandidate\tscore", LABELLED)
    columns = PairColumns("reference", "candidate", "score")
    assert [p.score for p in Cannot.read(scored, columns=columns).items] == [1.0, 0.0]
    turned = columns._replace(higher_is_alike=False)
    assert [p.score for p in Cannot.read(scored, columns=turned).items] == [-1.0, 0.0]
    rows = [("wmt_2015", "A cat.", "A dog.", -0.34), ("cannot", "It rains.", "It is rainy.", 1.0)]
    mixed = write_table(tmp_path / "m.tsv", "source\treference\tcandidate\tscore", rows)
    assert [p[1:] for p in Cannot.read(mixed).items] == [row[1:] for row in rows]


def test_a_model_that_sees_the_negation_is_rewarded(tmp_path: Path) -> None:
    read = Cannot.read(write_table(tmp_path / "c.tsv", "premise\thypothesis\tlabel", LABELLED))
    assert read.evaluate([np.array([0.2]), np.array([0.9])]).score == pytest.approx(100.0)
    assert read.evaluate([np.array([0.9]), np.array([0.2])]).score == pytest.approx(-100.0)


def test_m3_takes_its_three_scores_alone(tmp_path: Path) -> None:
    rows = [{"sentence1": "a b", "sentence2": f"c {s}", "score": s} for s in (-1, 0, 1)]
    read = M3Counterfactual.read(write_lines(tmp_path / "m.jsonl", rows))
    result = read.evaluate([np.array([s]) for s in (0.1, 0.2, 0.9)])
    assert result.score == pytest.approx(100.0)
    assert result.figures["score -1"] == pytest.approx(0.1)
    rows.append({"sentence1": "a", "sentence2": "b", "score": 2})
    with pytest.raises(HedgerowError, match="-1, 0 or 1 in 'score' on line 4"):
        M3Counterfactual.read(write_lines(tmp_path / "m.jsonl", rows))


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        ("premise\thypothesis\tscore", LABELLED, "Expected 'label' on line 2 of 'c.tsv', found"),
        ("premise\thypothesis\tlabel", [("a", "b", "yes")], "a number in 'label' on line 2"),
        ("premise\thypothesis\tlabel", [("a", "b", "nan")], "a number in 'label' on line 2"),
        (
            "premise\thypothesis\tlabel",
            [("a", "b", 1), ("a", "", 0)],
            "line 3 of 'c.tsv', found an",
        ),
        ("premise\thypothesis\tlabel", [("a", "b", 1), ("a", "c", 1)], "the same score everywhere"),
        ("premise\thypothesis\tlabel", [("a", "b")], "found 2 on line 2"),
    ],
)
def test_a_wrong_table(tmp_path: Path, header: str, rows: list[object], message: str) -> None:
    path = write_table(tmp_path / "c.tsv", header, rows)  # type: ignore[arg-type]
    with pytest.raises(HedgerowError, match=message):
        Cannot.read(path)


def test_a_pair_without_a_score_is_left_out(tmp_path: Path) -> None:
    rows = [*LABELLED, ("It rains.", "It pours.", "")]
    read = Cannot.read(write_table(tmp_path / "c.tsv", "premise\thypothesis\tlabel", rows))
    assert len(read.items) == 2


pairs = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-1, 1, width=32)),
    min_size=2,
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(pairs, st.randoms(use_true_random=False))
def test_the_score_is_scipys_and_the_order_of_pairs_does_not_matter(
    rows: list[tuple[float, float]], chance: object
) -> None:
    from scipy.stats import spearmanr

    def score(chosen: list[tuple[float, float]]) -> float:
        items = [ScoredPair(str(n), "a", "b", gold) for n, (gold, _) in enumerate(chosen)]
        return Cannot(items).evaluate([np.array([value]) for _, value in chosen]).score

    gold, given_scores = zip(*rows, strict=True)
    varies = len(set(gold)) > 1 and len(set(given_scores)) > 1
    expected = 100 * spearmanr(gold, given_scores).statistic if varies else 0.0
    assert score(rows) == pytest.approx(expected, abs=1e-9)
    shuffled = list(rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score(shuffled) == pytest.approx(expected, abs=1e-9)


def test_pairs_without_an_answer_are_left_out_and_reported() -> None:
    from scipy.stats import spearmanr

    items = [ScoredPair(str(n), "a", "b", float(n)) for n in range(4)]
    result = Cannot(items).evaluate([np.array([x]) for x in (0.1, np.nan, 0.3, 0.2)])
    assert result.unanswered == 1 and result.n == 4
    assert result.score == pytest.approx(100 * spearmanr([0, 2, 3], [0.1, 0.3, 0.2]).statistic)
