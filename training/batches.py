"""The batches of a training: no text twice in one, and each of triples of about one length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from datasets import Dataset
    from sentence_transformers.base.sampler import DefaultBatchSampler

BATCHES_PER_GROUP = 8
"""Of a group that is sorted by length; more would save little padding and cost randomness."""

MOST_PASSES = 4
"""Through the triples to fill one epoch's batches; only few anchors need more than two."""


def batches_of_one_length(
    dataset: Dataset,
    *,
    batch_size: int,
    generator: torch.Generator,
    seed: int,
    **options: Any,
) -> DefaultBatchSampler:
    """Random batches without a common text, each of triples of about the same length.

    Anchors recur in many triples, and a text that occurs twice in a batch would be a false
    negative. The library's sampler draws groups without a common text; a group is sorted by
    length and cut into batches. On the starter corpus this leaves 78 tokens to compute a triple
    where random batches have 147, of which 62 are not padding.
    """
    import torch
    from sentence_transformers.base.sampler import DefaultBatchSampler, NoDuplicatesBatchSampler

    groups = NoDuplicatesBatchSampler(
        dataset,
        batch_size=batch_size * BATCHES_PER_GROUP,
        drop_last=False,
        generator=generator,
        seed=seed,
    )
    lengths = [max(map(len, row.values())) for row in dataset]

    class BatchesOfOneLength(DefaultBatchSampler):
        def __iter__(self) -> Iterator[list[int]]:
            wanted = len(self)
            for again in range(MOST_PASSES):  # what doesn't fit into one pass comes in the next
                groups.set_epoch(self.epoch * MOST_PASSES + again)
                for group in groups:
                    whole = group[: len(group) // batch_size * batch_size]
                    ranked = sorted(whole, key=lengths.__getitem__)
                    starts = torch.arange(0, len(whole), batch_size)
                    for place in torch.randperm(len(starts), generator=generator):
                        start = int(starts[place])
                        yield ranked[start : start + batch_size]
                        wanted -= 1
                        if not wanted:
                            return

    return BatchesOfOneLength(
        dataset, batch_size=batch_size, generator=generator, seed=seed, **options
    )
