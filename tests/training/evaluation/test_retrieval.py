"""Retrieval: the ranks of the right passages, and the bundled questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from curation.corpora.corpus import CORPORA
from curation.release.overlap import Runs, overlap
from tests.training.support.vectors import Vectors, at
from training.evaluation.retrieval import (
    RetrievalItem,
    mean_reciprocal_rank,
    retrieval_items,
)
from training.retention.bundled_texts import bundled_texts

WORDS = 8
"""Words in a row that nothing shares with the set. A few phrases of five to seven words are
common."""


def item(name: str, near_misses: int = 0) -> RetrievalItem:
    missed = tuple(f"{name} missed {number}" for number in range(near_misses))
    return RetrievalItem(f"{name}?", f"{name}.", missed)


def encoder(**degrees: float) -> Vectors:
    return Vectors(dict(zip(degrees, at(*degrees.values()), strict=True)))


@pytest.mark.parametrize(
    ("degrees", "items", "expected"),
    [
        # b's own passage ranks below a near miss
        (
            {"a?": 0, "a.": 0, "b?": 80, "b.": 50, "b missed 0": 85, "b missed 1": 40},
            [item("a"), item("b", 2)],
            0.75,
        ),
        # and here below the passage of another question
        ({"a?": 0, "a.": 20, "b?": 90, "b.": 10}, [item("a"), item("b")], 0.5),
        # only the first ten count
        ({"a?": 0, "a.": 40} | {f"a missed {n}": n for n in range(9)}, [item("a", 9)], 0.1),
        ({"a?": 0, "a.": 40} | {f"a missed {n}": n for n in range(10)}, [item("a", 10)], 0.0),
        # all texts are the same
        ({"a?": 30, "a.": 30} | {f"a missed {n}": 30 for n in range(10)}, [item("a", 10)], 0.0),
    ],
)
def test_the_reciprocal_ranks_of_the_right_passages_are_averaged(
    degrees: dict[str, float], items: list[RetrievalItem], expected: float
) -> None:
    assert mean_reciprocal_rank(encoder(**degrees), items) == pytest.approx(expected)


def test_questions_and_passages_get_the_prompts_of_the_model() -> None:
    model = encoder(**{"query: a?": 0, "passage: a.": 20})
    model.prompts = {"query": "query: ", "passage": "passage: "}
    assert mean_reciprocal_rank(model, [item("a")]) == 1.0


def test_measuring_can_be_stopped() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    model = encoder(**{"a?": 0, "a.": 20})
    with pytest.raises(KeyboardInterrupt):
        mean_reciprocal_rank(model, [item("a")], check=stop)
    assert model.encoded == []


def test_the_bundled_set_has_300_questions_and_900_passages_without_a_double() -> None:
    items = retrieval_items()
    passages = {text for item in items for text in (item.passage, *item.near_misses)}
    assert (len({item.question for item in items}), len(passages)) == (300, 900)
    assert all(text == text.strip() for text in passages)


def strings(value: Any) -> Iterator[str]:
    """All texts in the values of a JSON object."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)


def of_corpora() -> Iterator[str]:
    for corpus in CORPORA.values():
        for row in (*corpus.families(), *corpus.reviews(), *corpus.second_reviews()):
            yield from strings(row)


def of_retention() -> Iterator[str]:
    for entry in bundled_texts():
        yield entry.text


@pytest.mark.slow
@pytest.mark.parametrize("texts", [of_corpora, of_retention])
def test_nothing_that_is_trained_on_shares_a_run_of_words_with_the_set(texts: Any) -> None:
    samples = [(item.question, item.passage, *item.near_misses) for item in retrieval_items()]
    found = overlap(samples, Runs(texts(), n=WORDS), texts=texts())
    assert (found.overlapping, found.exact) == (0, 0), found.examples
