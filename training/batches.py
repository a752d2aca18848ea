"""The batches of a training: which rows each step takes, by the seed and the step alone.

A row is a family, or a triple written as a family of three.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Protocol

from training.losses import Family, Member, Role

SENTENCES = 3
"""Neutral sentences that a family set into context is among, at most."""

MOST_PASSES = 4
"""Through the triples to fill one epoch's batches; only few anchors need more than two."""


class Batches(Protocol):
    """The rows of each step."""

    def of(self, step: int) -> list[Family]:
        """Of the step with this number, from 1 on; the same at every call."""


class FamilyBatches:
    """Each epoch goes through all families, in an order of its own."""

    def __init__(self, families: Sequence[Family], *, size: int, seed: int) -> None:
        """Take families in an order that depends on their texts alone."""
        self._families, self._size, self._seed = families, size, seed

    def of(self, step: int) -> list[Family]:
        """As in `Batches`."""
        epoch, place = divmod(step - 1, len(self._families) // self._size)
        order = list(range(len(self._families)))
        random.Random(f"{self._seed}:{epoch}").shuffle(order)
        chosen = order[place * self._size : (place + 1) * self._size]
        return [self._families[number] for number in chosen]


class TripleBatches:
    """Triples of which no two of a batch share a text, which would be a false negative.

    Anchors recur in many triples. The library's sampler draws such batches; an epoch has as many
    as there would be without that rule, since what doesn't fit in comes in a further pass.
    """

    def __init__(self, triples: Sequence[Family], *, size: int, seed: int) -> None:
        """Take triples in an order that depends on their texts alone."""
        from datasets import Dataset  # noqa: PLC0415  (loading it takes seconds)

        self._triples, self._size, self._seed = triples, size, seed
        texts = zip(*([member.text for member in triple] for triple in triples), strict=True)
        columns = dict(zip(("anchor", "positive", "negative"), map(list, texts), strict=True))
        self._rows = Dataset.from_dict(columns)
        self._epoch = lru_cache(maxsize=1)(self._drawn)

    def of(self, step: int) -> list[Family]:
        """As in `Batches`; none where no full batch without a common text can be made."""
        epoch, place = divmod(step - 1, len(self._triples) // self._size)
        drawn = self._epoch(epoch)
        return [self._triples[number] for number in drawn[place % len(drawn)]] if drawn else []

    def _drawn(self, epoch: int) -> list[list[int]]:
        import torch
        from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

        sampler = NoDuplicatesBatchSampler(
            self._rows, batch_size=self._size, drop_last=True, generator=torch.Generator(),
            seed=self._seed,
        )  # fmt: skip
        sampler.set_epoch(epoch)
        return list(sampler)


def as_triples(families: Sequence[Family]) -> list[Family]:
    """Every positive with every negative of an anchor; distinct, sorted by their texts."""
    found = {
        tuple(member.text for member in triple): triple
        for anchor, *variants in families
        for triple in (
            (anchor, positive, negative)
            for positive, negative in product(
                (member for member in variants if member.role != Role.NEGATION),
                (member for member in variants if member.role == Role.NEGATION),
            )
        )
    }
    return [found[texts] for texts in sorted(found)]


def count_triples(family: Family) -> int:
    """How many triples a family gives."""
    negative = sum(member.role == Role.NEGATION for member in family)
    return negative * (len(family) - 1 - negative)


class InContext:
    """Sets families into the same few neutral sentences: a negation inside a passage, as in NevIR.

    The sentences are other families' anchors, so the passage says nothing for or against.
    """

    def __init__(self, families: Sequence[Family], *, probability: float, seed: int) -> None:
        """Take the families whose anchors are the neutral sentences."""
        self._sentences = sorted({family[0].text for family in families})
        self._probability, self._seed = probability, seed

    def __call__(self, rows: Sequence[Family], step: int) -> list[Family]:
        """The rows of a step, some of them set into a passage."""
        chance = random.Random(f"{self._seed}:context:{step}")
        return [
            self._set(row, chance) if chance.random() < self._probability else row for row in rows
        ]

    def _set(self, family: Family, chance: random.Random) -> Family:
        count = min(chance.randint(1, SENTENCES), len(self._sentences))
        around = [text for text in chance.sample(self._sentences, count) if text != family[0].text]
        place = chance.randint(0, len(around))
        before, after = " ".join(around[:place]), " ".join(around[place:])
        return [
            Member(f"{before} {member.text} {after}".strip(), member.role, member.type_id)
            for member in family
        ]
