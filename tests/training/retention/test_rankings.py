"""Keeping the base encoder's ranking of passages: the samples, and the loss of a change."""

import random

import numpy as np
import pytest

from training.retention.documents import Document
from training.retention.rankings import QUERIES_OF_A_DOCUMENT, SCALE, SOFT_TARGETS, Rankings

DOCUMENTS = [
    Document(
        f"{name} mills", f"About {name}.", (f"Who mills {name}?", f"Why {name}?"), name, "I need it"
    )
    for name in ("oats", "rye", "maize")
]


def test_a_draw_takes_whole_documents_and_some_of_the_queries_of_each() -> None:
    rankings = Rankings(DOCUMENTS)
    sampled = rankings.draw(2, random.Random(1))
    passages = [document for document in DOCUMENTS if document.passage in sampled]
    assert len(passages) == 2 and len(sampled) == 2 * (1 + QUERIES_OF_A_DOCUMENT)
    for document in passages:
        place = sampled.index(document.passage) + 1
        assert set(sampled[place : place + QUERIES_OF_A_DOCUMENT]) <= set(document.queries)
    everything = {text for seed in range(50) for text in rankings.draw(9, random.Random(seed))}
    assert everything == rankings.texts


def test_cosines_of_queries_with_passages_count_and_those_among_passages_do_not() -> None:
    import torch

    rankings = Rankings(DOCUMENTS)
    texts = ["elsewhere", "About rye.", "rye", "About oats.", "Why oats?"]
    old = torch.nn.functional.normalize(torch.randn(5, 6, generator=torch.Generator()), dim=1)
    assert float(rankings.loss(old, old, texts)) == pytest.approx(0.0, abs=1e-5)
    turned = old.clone()
    turned[0] = -turned[0]  # neither a query nor a passage
    assert float(rankings.loss(turned, old, texts)) == pytest.approx(0.0, abs=1e-5)
    new = old.clone()
    new[2], new[1] = old[4], old[0]
    before, after = (
        np.array([[float(rows[q] @ rows[p]) for p in (1, 3)] for q in (2, 4)])
        for rows in (old, new)
    )
    wanted, found = (np.exp(SCALE * rows) for rows in (before, after))
    wanted, found = (rows / rows.sum(axis=1, keepdims=True) for rows in (wanted, found))
    expected = np.sqrt(np.square(after - before).mean())
    expected += SOFT_TARGETS * (wanted * np.log(wanted / found)).sum(axis=1).mean()
    assert float(rankings.loss(new, old, texts)) == pytest.approx(expected, rel=1e-3)


def test_nothing_is_lost_if_there_is_nothing_to_rank() -> None:
    import torch

    rows = torch.ones(2, 3)
    assert float(Rankings(DOCUMENTS).loss(rows, -rows, ["rye", "maize"])) == 0
    assert Rankings([]).draw(8, random.Random(0)) == []
