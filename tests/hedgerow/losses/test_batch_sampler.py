"""The rows of each batch."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from hedgerow.losses import FamilyBatchSampler
from tests.hedgerow.losses.support.rows import row, rows

if TYPE_CHECKING:
    from datasets import Dataset


def dataset(given: list[dict[str, Any]]) -> Dataset:
    from datasets import Dataset

    return Dataset.from_list(given)


def sampler(
    families: Dataset, size: int = 5, *, drop_last: bool = False, seed: int = 0, epoch: int = 0
) -> FamilyBatchSampler:
    import torch

    found = FamilyBatchSampler(
        families, batch_size=size, drop_last=drop_last, generator=torch.Generator(), seed=seed
    )
    found.set_epoch(epoch)
    return found


@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [5, 5, 2]), (True, [5, 5])])
def test_an_epoch_takes_each_row_once(families: Dataset, drop_last: bool, sizes: list[int]) -> None:
    found = sampler(families, drop_last=drop_last)
    batches = list(found)
    assert [len(batch) for batch in batches] == sizes
    assert len(found) == len(sizes)
    taken = [number for batch in batches for number in batch]
    assert len(set(taken)) == sum(sizes)


def test_the_order_follows_from_seed_and_epoch(families: Dataset) -> None:
    first = list(sampler(families))
    assert list(sampler(families)) == first
    assert list(sampler(families, seed=1)) != first
    assert list(sampler(families, epoch=1)) != first


def test_rows_with_nothing_to_compare_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    given = rows()
    given[2]["negations"] = []
    given[5] |= {"hedges": [], "paraphrases": None}
    with caplog.at_level(logging.INFO):
        found = sampler(dataset(given))
    assert sorted(number for batch in found for number in batch) == [0, 1, 3, 4, *range(6, 12)]
    assert len(found) == 2
    assert "10 of 12 rows have something to compare" in caplog.text


def test_no_batch_has_two_families_of_one_anchor() -> None:
    given = [*rows(), *rows()]
    for epoch in range(3):
        batches = list(sampler(dataset(given), 6, epoch=epoch))
        for batch in batches:
            assert len({given[number]["anchor"] for number in batch}) == len(batch)
        assert sorted(number for batch in batches for number in batch) == list(range(24))


def test_wrong_columns_are_named() -> None:
    pairs = dataset([{"sentence1": "It rains.", "sentence2": "It is dry.", "label": 0}])
    with pytest.raises(
        ValueError, match="Expected the columns .* found sentence1, sentence2, label"
    ):
        sampler(pairs)


def test_a_wrong_value_is_found_before_the_first_step() -> None:
    given = [row("kettle", hedges="one text") | {"paraphrases": None}]
    with pytest.raises(ValueError, match="Expected a list of texts in the column hedges"):
        sampler(dataset(given))


def test_too_few_families_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected at least 5 families for a batch, found 3"):
        sampler(dataset(rows(["kettle", "ladder", "violin"])), drop_last=True)
    with pytest.raises(ValueError, match="found none among 1 rows"):
        sampler(dataset([row("kettle", negations=[])]))
