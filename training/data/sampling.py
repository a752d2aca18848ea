"""The batches of a training run. The rows of a step depend only on the seed and the step.

A row is a family, or a triple written as a family of three.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from training.losses.families import POSITIVE, Family, Member, Role
from training.recipe.training_data import anchors_in_an_epoch

if TYPE_CHECKING:
    from datasets import Dataset


Item = TypeVar("Item")


class Batches(Protocol):
    """The rows of each step."""

    def rows_at(self, step: int) -> list[Family]:
        """The rows of the step with this number, from 1 on. They are the same at every call."""


def rows_in_an_epoch(rows: Sequence[Family], shares: Mapping[str, float]) -> int:
    """The number of rows in an epoch; approximate for triples."""
    found = 0.0
    for source, group in _by_source(rows).items():
        anchors = len({row[0] for row in group})
        sampled = anchors_in_an_epoch(anchors, shares.get(source, 1.0))
        found += len(group) * sampled / anchors
    return round(found)


def _by_source(rows: Sequence[Family]) -> dict[str, list[Family]]:
    found: dict[str, list[Family]] = {}
    for row in rows:
        found.setdefault(row[0].source, []).append(row)
    return found


class Epochs:
    """The anchors of each epoch: a share of each source. The next epoch uses other anchors, so that
    none is repeated before all others of its source were used."""

    def __init__(
        self, anchors: Sequence[Member], *, shares: Mapping[str, float], seed: int
    ) -> None:
        """Take distinct anchors, in an order that is always the same.

        Args:
            shares: source → the share of its anchors in an epoch, 0 to 1. Sources without a share
                are used completely.
        """
        of_source: dict[str, list[int]] = {}
        for number, anchor in enumerate(anchors):
            of_source.setdefault(anchor.source, []).append(number)
        self._rounds = []
        for source, numbers in of_source.items():
            random.Random(f"{seed}:source:{source}").shuffle(numbers)
            count = anchors_in_an_epoch(len(numbers), shares.get(source, 1.0))
            self._rounds.append((numbers, count))

    def anchors_of(self, epoch: int) -> list[int]:
        """The indices of the anchors in the epoch with this number (from 0 on), in their order."""
        return sorted(
            numbers[(epoch * count + place) % len(numbers)]
            for numbers, count in self._rounds
            for place in range(count)
        )

    def __len__(self) -> int:
        """The number of anchors in an epoch."""
        return sum(count for _, count in self._rounds)


class FamilyBatches:
    """Each epoch uses its families in a different order.

    A variant whose type has a weight below 1 is used in this share of its family's steps. The
    anchor is always used.
    """

    def __init__(
        self,
        families: Sequence[Family],
        *,
        size: int,
        seed: int,
        sources: Mapping[str, float] = MappingProxyType({}),
        types: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Take families, enough to fill a batch in an epoch, in an order that is always the same.

        Args:
            sources: as in `Recipe`.
            types: as in `Recipe`.
        """
        self._families, self._size, self._seed, self._types = families, size, seed, types
        self._epochs = Epochs([family[0] for family in families], shares=sources, seed=seed)
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def rows_at(self, step: int) -> list[Family]:
        """As in `Batches`."""
        epoch, place = divmod(step - 1, len(self._epochs) // self._size)
        chosen = self._order(epoch)[place * self._size : (place + 1) * self._size]
        return self._with_types([self._families[number] for number in chosen], step)

    def _shuffled(self, epoch: int) -> list[int]:
        order = self._epochs.anchors_of(epoch)
        random.Random(f"{self._seed}:{epoch}").shuffle(order)
        return order

    def _with_types(self, families: list[Family], step: int) -> list[Family]:
        if not self._types:
            return families
        chance = random.Random(f"{self._seed}:types:{step}")
        return [
            [anchor, *(m for m in variants if chance.random() < self._types.get(m.type_id, 1.0))]
            for anchor, *variants in families
        ]


class TripleBatches:
    """Batches of triples without shared texts, which would be false negatives.

    An anchor occurs in many triples. sentence-transformers' sampler builds such batches. An epoch
    has the same number of batches as without this rule, because triples that do not fit go into a
    further pass. An epoch contains its share of each source's anchors, with all their triples.
    """

    def __init__(
        self,
        triples: Sequence[Family],
        *,
        size: int,
        seed: int,
        sources: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Take triples, enough to fill a batch in an epoch, in an order that is always the same.

        Args:
            sources: as in `Recipe`.
        """
        self._triples, self._size, self._seed = triples, size, seed
        self._anchors = list(dict.fromkeys(row[0] for row in triples))
        self._epochs = Epochs(self._anchors, shares=sources, seed=seed)
        self._steps = max(1, rows_in_an_epoch(triples, sources) // size)
        self._epoch = lru_cache(maxsize=1)(self._sampled)

    def rows_at(self, step: int) -> list[Family]:
        """As in `Batches`. Empty if no full batch without a shared text is possible."""
        epoch, place = divmod(step - 1, self._steps)
        rows, sampled = self._epoch(epoch)
        return [rows[number] for number in sampled[place % len(sampled)]] if sampled else []

    def _sampled(self, epoch: int) -> tuple[list[Family], list[list[int]]]:
        """The triples of an epoch, and the indices of those in each batch."""
        import torch
        from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

        chosen = {self._anchors[number] for number in self._epochs.anchors_of(epoch)}
        rows = [row for row in self._triples if row[0] in chosen]
        sampler = NoDuplicatesBatchSampler(
            cast("Dataset", _Texts(rows)),
            batch_size=self._size,
            drop_last=True,
            generator=torch.Generator(),
            seed=self._seed,
        )
        sampler.set_epoch(epoch)
        return rows, list(sampler)


class _Texts:
    """The part of a ``datasets.Dataset`` that the sampler reads. A real data set would take about
    ten microseconds per row, and the sampler reads each row many times."""

    column_names = ()

    def __init__(self, rows: Sequence[Family]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> dict[int, str]:
        return {number: member.text for number, member in enumerate(self._rows[place])}


def random_sample(items: Sequence[Item], most: int | None, *, seed: int) -> list[Item]:
    """A random sample of at most this many items, in their order; None means all."""
    places = random.Random(seed).sample(range(len(items)), min(len(items), most or len(items)))
    return [items[place] for place in sorted(places)]


def as_triples(families: Sequence[Family]) -> list[Family]:
    """Every positive with every negative of an anchor, without duplicates, sorted by their texts.

    A family without a negative gives the pairs of its anchor and a positive.
    """
    found = {
        tuple(member.text for member in row): row for family in families for row in _rows(family)
    }
    return [found[texts] for texts in sorted(found)]


def count_triples(family: Family) -> int:
    """The number of triples of a family, or of pairs if it has no negative."""
    return len(_rows(family))


def _rows(family: Family) -> list[Family]:
    anchor, *variants = family
    positives = [member for member in variants if member.role in POSITIVE]
    negatives = [[member] for member in variants if member.role == Role.NEGATION]
    return [(anchor, good, *bad) for good in positives for bad in negatives or [[]]]
