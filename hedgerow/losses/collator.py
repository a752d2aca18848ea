"""`FamilyCollator`, which turns rows of a data set into inputs for `FamilyLoss`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch  # noqa: TID253
from sentence_transformers.sentence_transformer.data_collator import (  # noqa: TID253
    SentenceTransformerDataCollator,
)
from torch.nn.utils.rnn import pad_sequence  # noqa: TID253

from hedgerow.losses.families import Family, Role, has_contrast
from hedgerow.losses.rows import ANCHOR, family_of

TEXT = "text"
"""The key of the variants' prompt in `prompts`."""


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
        anchors = ANCHOR if by_column else TEXT
        keys = [
            [(anchors if member.role == Role.ANCHOR else TEXT, member.text) for member in family]
            for family in families
        ]
        columns: dict[str, list[str]] = {}
        for column, text in dict.fromkeys(chain.from_iterable(keys)):
            columns.setdefault(column, []).append(text)
        distinct = [(column, text) for column, texts in columns.items() for text in texts]
        place = {key: number for number, key in enumerate(distinct)}
        labels = [
            torch.tensor([(place[key], member.role) for key, member in zip(*row, strict=True)])
            for row in zip(keys, families, strict=True)
        ]
        # The label comes first because the trainer weights the losses of evaluation batches by the
        # length of the first tensor, which is then the number of families.
        batch: dict[str, Any] = {"label": pad_sequence(labels, True, padding_value=-1)}
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
