"""The batch sampler and the collator for `FamilyLoss`.

This module loads PyTorch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253
from sentence_transformers.base.sampler import NoDuplicatesBatchSampler  # noqa: TID253
from sentence_transformers.sentence_transformer.data_collator import (  # noqa: TID253
    SentenceTransformerDataCollator,
)
from torch import Tensor  # noqa: TID253
from torch.nn.utils.rnn import pad_sequence  # noqa: TID253

from training.losses.families import ANCHOR, Family, Role, check_columns, family_of, has_contrast

if TYPE_CHECKING:
    from datasets import Dataset

TEXT = "text"
"""The key of the variants' prompt in `prompts`."""

logger = logging.getLogger(__name__)


def labelled(
    families: Sequence[Family], *, anchors: str = TEXT
) -> tuple[list[tuple[str, str]], Tensor]:
    """The distinct texts of a batch and its labels.

    Args:
        anchors: the column of the anchors; that of the variants is ``text``. A text in both columns
            counts twice.

    Returns:
        The column and text of each distinct text, sorted by column; and integers of shape
        (families, longest family, 2): the place of each member's text, and its ``Role``, padded
        with -1.
    """
    keys = [
        [(anchors if member.role == Role.ANCHOR else TEXT, member.text) for member in family]
        for family in families
    ]
    distinct = dict.fromkeys(key for row in keys for key in row)
    # The sort is stable: within a column, texts stay in the order of their first occurrence.
    by_column = sorted(distinct, key=lambda key: key[0] != anchors)
    place = {key: number for number, key in enumerate(by_column)}
    rows = [
        torch.tensor([(place[key], member.role) for key, member in zip(*row, strict=True)])
        for row in zip(keys, families, strict=True)
    ]
    return by_column, pad_sequence(rows, batch_first=True, padding_value=-1)


@dataclass
class FamilyCollator(SentenceTransformerDataCollator):
    """Data collator that builds batches of families with each distinct text once.

    A row is an anchor with all its variants: the text ``anchor``, and the lists of texts
    ``paraphrases``, ``hedges``, ``unsupported`` and ``negations``. Other columns are ignored.

    The arguments are those of SentenceTransformerDataCollator. By default the batch has one column,
    ``text``. If ``prompts`` is a dictionary, it has two: ``prompts={"anchor": "query: ", "text":
    "passage: "}`` prepends the first prompt to anchors and the second to variants. The trainer
    passes the ``prompts`` of its arguments only to its default collator, so set them here.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> from hedgerow.losses import FamilyCollator
        >>> model = SentenceTransformer("your-encoder")
        >>> collate = FamilyCollator(model.preprocess)
        >>> row = {"anchor": "It rains.", "hedges": ["It may rain."], "negations": ["It is dry."]}
        >>> batch = collate([row])
        >>> batch["text_input_ids"].shape[0]  # texts
        3
        >>> batch["label"].shape  # families, texts of the longest, (place of the text, its role)
        torch.Size([1, 3, 2])
    """

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Collate rows into a batch.

        Returns:
            The encoder's inputs, named ``{column}_{name}``, and ``label``, integers of shape
            (families, longest family, 2), the labels for `FamilyLoss.forward`.

        Raises:
            ValueError: a column is missing or has invalid values, an anchor allows no comparison,
                or a prompt has a key other than ``anchor`` and ``text``.
        """
        families = [_comparable(family_of(row)) for row in features]
        common = {name: value for name, value in features[0].items() if name == "dataset_name"}
        if not common:  # otherwise the prompts may have the names of data sets as keys
            self._check_prompts()
        by_column = self.router_mapping or (isinstance(self.prompts, dict) and self.prompts)
        distinct, labels = labelled(families, anchors=ANCHOR if by_column else TEXT)
        columns: dict[str, list[str]] = {}
        for column, text in distinct:
            columns.setdefault(column, []).append(text)
        # The label comes first because the trainer weights the losses of evaluation batches by the
        # length of the first tensor, which is then the number of families.
        batch: dict[str, Any] = {"label": labels}
        for column, texts in columns.items():
            batch |= super().__call__([{**common, column: text} for text in texts])
        return batch

    def _check_prompts(self) -> None:
        prompts = self.prompts if isinstance(self.prompts, dict) else {}
        # A dictionary of dictionaries is for several data sets; the base class reports it.
        names = {name for name, prompt in prompts.items() if not isinstance(prompt, dict)}
        if unknown := names - {ANCHOR, TEXT}:
            raise ValueError(
                f"Expected prompts for {ANCHOR} and {TEXT}, found {', '.join(sorted(unknown))}: "
                f"name the anchors' prompt {ANCHOR} and the variants' prompt {TEXT}."
            )


def _comparable(family: Family) -> Family:
    if not has_contrast(family):
        raise ValueError(
            "Expected a negation, and a paraphrase or hedge, of each anchor, but "
            f"{family[0].text[:80]!r} lacks one: pass batch_sampler=FamilyBatchSampler in the "
            "training arguments, which skips such rows."
        )
    return family


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
