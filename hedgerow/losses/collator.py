"""`FamilyCollator`: turns rows of a data set into inputs for `FamilyLoss`."""

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
"""Name of the variants in `prompts`."""


@dataclass
class FamilyCollator(SentenceTransformerDataCollator):
    """Builds a batch of families that contains each distinct text once.

    A row is an anchor with all its variants: the text ``anchor``, and lists of texts
    ``paraphrases``, ``hedges``, ``unsupported`` and ``negations``. Other columns are ignored.

    The arguments are those of the library's collator. Without a dictionary of ``prompts`` the batch
    has one column, ``text``. With one, it has two: ``prompts={"anchor": "query: ", "text":
    "passage: "}`` puts the first in front of anchors and the second in front of variants. The
    trainer passes the ``prompts`` of its arguments to its own collator only, so give them here.

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
        """The batch of these rows.

        Returns:
            What the encoder takes, by ``{column}_{name}``; and ``label``, integers of the shape
            (families, longest family, 2), as `FamilyLoss.forward` takes them.

        Raises:
            ValueError: a column is missing or has wrong values, an anchor has nothing to compare,
                or there is a prompt for something else than anchors and variants.
        """
        families = [_comparable(family_of(row)) for row in features]
        common = {name: value for name, value in features[0].items() if name == "dataset_name"}
        if not common:  # otherwise the prompts may be those of several data sets, by their names
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
        # The label is the first: by the length of the first tensor, which is the number of families
        # here, the trainer weighs the losses of an evaluation's batches.
        batch: dict[str, Any] = {"label": pad_sequence(labels, True, padding_value=-1)}
        for column, texts in columns.items():
            batch |= super().__call__([{**common, column: text} for text in texts])
        return batch

    def _check_prompts(self) -> None:
        prompts = self.prompts if isinstance(self.prompts, dict) else {}
        # A dictionary of dictionaries is for several data sets; the library's collator says so.
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
            "training arguments, which leaves such rows out."
        )
    return family
