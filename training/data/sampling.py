"""The batches of a training: which rows each step takes, by the seed and the step alone.

A row is a family, or a triple written as a family of three.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from training.finetune.losses import POSITIVE, Family, Member, Role

if TYPE_CHECKING:
    from datasets import Dataset

SENTENCES = 3
"""Neutral sentences that a family set into context is among, at most."""


class Batches(Protocol):
    """The rows of each step."""

    def of(self, step: int) -> list[Family]:
        """Of the step with this number, from 1 on; the same at every call."""


class FamilyBatches:
    """Each epoch goes through all families, in an order of its own."""

    def __init__(self, families: Sequence[Family], *, size: int, seed: int) -> None:
        """Take families, at least as many as a batch has, in an order that is always the same."""
        self._families, self._size, self._seed = families, size, seed
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def of(self, step: int) -> list[Family]:
        """As in `Batches`."""
        epoch, place = divmod(step - 1, len(self._families) // self._size)
        chosen = self._order(epoch)[place * self._size : (place + 1) * self._size]
        return [self._families[number] for number in chosen]

    def _shuffled(self, epoch: int) -> list[int]:
        order = list(range(len(self._families)))
        random.Random(f"{self._seed}:{epoch}").shuffle(order)
        return order


class TripleBatches:
    """Triples of which no two of a batch share a text, which would be a false negative.

    Anchors recur in many triples. sentence-transformers' sampler draws such batches; an epoch has
    as many as there would be without that rule, since what doesn't fit in comes in a further pass.
    """

    def __init__(self, triples: Sequence[Family], *, size: int, seed: int) -> None:
        """Take triples, at least as many as a batch has, in an order that is always the same."""
        self._triples, self._size, self._seed = triples, size, seed
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
            cast("Dataset", _Texts(self._triples)),
            batch_size=self._size,
            drop_last=True,
            generator=torch.Generator(),
            seed=self._seed,
        )
        sampler.set_epoch(epoch)
        return list(sampler)


class _Texts:
    """The part of a ``datasets.Dataset`` that the sampler reads; that itself would read a row in
    some ten microseconds, and the sampler reads each many times."""

    column_names = ()

    def __init__(self, rows: Sequence[Family]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> dict[int, str]:
        return {number: member.text for number, member in enumerate(self._rows[place])}


def as_triples(families: Sequence[Family]) -> list[Family]:
    """Every positive with every negative of an anchor; distinct, sorted by their texts.

    A family without a negative gives the pairs of its anchor and a positive.
    """
    found = {
        tuple(member.text for member in row): row for family in families for row in _rows(family)
    }
    return [found[texts] for texts in sorted(found)]


def count_triples(family: Family) -> int:
    """How many triples a family gives, or pairs where it has no negative."""
    return len(_rows(family))


def _rows(family: Family) -> list[Family]:
    anchor, *variants = family
    positives = [member for member in variants if member.role in POSITIVE]
    negatives = [[member] for member in variants if member.role == Role.NEGATION]
    return [(anchor, good, *bad) for good in positives for bad in negatives or [[]]]


class InContext:
    """Sets families into the same few neutral sentences: a negation inside a passage, as in NevIR.

    The sentences are other families' anchors, so the passage says nothing for or against.
    """

    def __init__(self, families: Sequence[Family], *, probability: float, seed: int) -> None:
        """Take the families whose anchors are the neutral sentences."""
        self._sentences = sorted({family[0].text for family in families})
        self._probability, self._seed = probability, seed

    def __call__(self, rows: Sequence[Family], step: int) -> list[Family]:
        """The rows of a step, some of them set into a passage; all members into the same one."""
        chance = random.Random(f"{self._seed}:context:{step}")
        return [
            self._set(row, chance) if chance.random() < self._probability else row for row in rows
        ]

    def _set(self, family: Family, chance: random.Random) -> Family:
        around = self._neutral(family, chance.randint(1, SENTENCES), chance)
        place = chance.randint(0, len(around))
        before, after = " ".join(around[:place]), " ".join(around[place:])
        return [
            Member(f"{before} {member.text} {after}".strip(), member.role, member.type_id)
            for member in family
        ]

    def _neutral(self, family: Family, count: int, chance: random.Random) -> list[str]:
        """So many sentences that are none of the family's own, as far as there are."""
        own = {member.text for member in family}
        drawn = chance.sample(self._sentences, min(count + len(own), len(self._sentences)))
        return [text for text in drawn if text not in own][:count]
