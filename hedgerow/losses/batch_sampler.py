"""`FamilyBatchSampler`, which chooses the rows of each batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sentence_transformers.base.sampler import NoDuplicatesBatchSampler  # noqa: TID253

from hedgerow.losses.families import has_contrast
from hedgerow.losses.rows import ANCHOR, check_columns, family_of

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

logger = logging.getLogger(__name__)


class FamilyBatchSampler(NoDuplicatesBatchSampler):
    """Batch sampler for whole families with distinct anchors.

    It skips rows that allow no comparison: rows without a negation, and rows with neither a
    paraphrase nor a hedge. The seed and the epoch determine the order.

    Pass the class itself as ``batch_sampler`` in SentenceTransformerTrainingArguments. Then
    ``per_device_train_batch_size`` counts families.

    Example:
        >>> from datasets import Dataset
        >>> from hedgerow.losses import FamilyBatchSampler
        >>> row = {"anchor": "It rains.", "hedges": ["It may rain."], "negations": ["It is dry."]}
        >>> lacking = {"anchor": "It snows.", "hedges": ["It may snow."], "negations": []}
        >>> families = Dataset.from_list([lacking, row, row])
        >>> sorted(FamilyBatchSampler(families, batch_size=2, drop_last=False))
        [[1], [2]]
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        drop_last: bool,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> None:
        """Create the sampler. This reads every row once.

        Args:
            dataset: a data set whose rows are families, as for `FamilyCollator`.
            batch_size: the number of families per batch, at least 1.
            drop_last: whether to drop the incomplete last batch of an epoch.
            valid_label_columns: ignored; sentence-transformers passes it.
            generator: the random generator that shuffles the rows. It is seeded for each epoch from
                the seed and the epoch's number.
            seed: the seed of the order.

        Raises:
            ValueError: a column is missing or has invalid values, no row allows a comparison, or
                too few rows do to fill one batch.
        """
        check_columns(dataset.column_names)
        self._rows = [n for n, row in enumerate(dataset) if has_contrast(family_of(row))]
        usable = len(self._rows)
        if not usable:
            raise ValueError(
                "Expected anchors with a paraphrase or hedge and a negation, found none among "
                f"{len(dataset)} rows: check the contents of the columns."
            )
        if drop_last and usable < batch_size:
            raise ValueError(
                f"Expected at least {batch_size} families for a batch, found {usable} that have "
                "something to compare: lower the batch size, or set dataloader_drop_last=False."
            )
        if usable < len(dataset):
            logger.info("%s of %s rows have something to compare", usable, len(dataset))
        super().__init__(
            dataset.select(self._rows).select_columns([ANCHOR]),
            batch_size=batch_size,
            drop_last=drop_last,
            valid_label_columns=valid_label_columns,
            generator=generator,
            seed=seed,
        )

    def __iter__(self) -> Iterator[list[int]]:
        """Iterate over the batches of the current epoch, each a list of row numbers."""
        for batch in super().__iter__():
            yield [self._rows[number] for number in batch]
