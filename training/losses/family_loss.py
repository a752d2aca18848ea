"""`FamilyLoss`, the loss over families as a module for sentence-transformers' trainer."""

import math
from collections.abc import Iterable
from typing import Any

import torch  # noqa: TID253  (the base class)
from sentence_transformers import SentenceTransformer  # noqa: TID253
from torch import Tensor, nn  # noqa: TID253

from training.losses.contrastive import (
    BIBTEX,
    NEGATION_MARGIN,
    ORDER_WEIGHT,
    SCALE,
    contrastive,
    rows_of,
    weights_for,
)


class FamilyLoss(nn.Module):
    """Pulls paraphrases and hedges towards their anchor and pushes negations away.

    The loss is the mean of -log(e^s(q,p) / (e^s(q,p) + Σ e^s(q,n))) over all pairs of a query q and
    a positive p in a family: Equation 1 of *Learning Robust Negation Text Representations* (§3.2).
    s is ``scale`` times the cosine. The negatives n are the family's own negations, and
    ``negation_margin`` is added to their cosines (Wang et al. 2018, *Additive margin softmax*).
    Texts of other families in the batch are never negatives. A penalty with weight ``order_weight``
    keeps variants in the order of their roles. Each distinct text of the batch is encoded once.

    `FamilyCollator` makes the inputs, and `FamilyBatchSampler` chooses the rows of a batch.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> from hedgerow.losses import FamilyCollator, FamilyLoss
        >>> model = SentenceTransformer("your-encoder")
        >>> row = {"anchor": "It rains.", "hedges": ["It may rain."], "negations": ["It is dry."]}
        >>> batch = FamilyCollator(model.preprocess)([row])
        >>> features = {"input_ids": batch["text_input_ids"]}
        >>> features["attention_mask"] = batch["text_attention_mask"]
        >>> FamilyLoss(model)([features], batch["label"]).item() > 0
        True
    """

    def __init__(
        self,
        model: SentenceTransformer,
        *,
        scale: float = SCALE,
        negation_margin: float = NEGATION_MARGIN,
        order_weight: float = ORDER_WEIGHT,
        symmetric: bool = True,
    ) -> None:
        """Create the loss. The defaults are those of the preset *standard*.

        Args:
            model: the encoder to train.
            scale: the factor, above 0, that multiplies cosines before the softmax; the reciprocal
                of the temperature.
            negation_margin: additive margin on the cosines of negations, from 0 to 1. It pushes
                negations farther away than positives and leaves space for hedges in between.
            order_weight: weight, at least 0, of the penalty that keeps an anchor's variants in
                order: paraphrases closest, then hedges, unsupported variants and negations.
            symmetric: whether to compare positives with each other and negations with each other
                as well. If False, only the anchor is compared with each positive, as in the paper.

        Raises:
            ValueError: a number is out of range.
        """
        super().__init__()
        _check("scale", scale, above=0.0)
        _check("negation_margin", negation_margin, most=1.0)
        _check("order_weight", order_weight)
        self.model = model
        self.scale = scale
        self.negation_margin = negation_margin
        self.order_weight = order_weight
        self.symmetric = symmetric
        self.weights = weights_for(
            symmetric=symmetric, negation_margin=negation_margin, order_weight=order_weight
        )

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: Tensor | None) -> Tensor:
        """Compute the loss of a batch.

        Args:
            sentence_features: the encoder's inputs, one dictionary per column of `FamilyCollator`.
            labels: (families, longest family, 2): for each text of a family, the index of its
                embedding among those of all columns, and its ``Role``; padded with -1.

        Returns:
            A scalar, at least 0.

        Raises:
            ValueError: the batch was not built by `FamilyCollator`.
        """
        if labels is None or labels.ndim != 3 or labels.shape[2] != 2:
            shape = "none" if labels is None else f"labels of shape {tuple(labels.shape)}"
            raise ValueError(
                f"Expected labels from FamilyCollator, found {shape}: pass "
                "data_collator=FamilyCollator(model.preprocess) to the trainer."
            )
        found = [self.model(features)["sentence_embedding"] for features in sentence_features]
        # Half precision would round cosines by as much as the levels differ.
        with torch.autocast(found[0].device.type, enabled=False):
            embeddings = nn.functional.normalize(torch.cat(found).float(), dim=1)
            return self.compute_loss_from_embeddings(embeddings, labels)

    def compute_loss_from_embeddings(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss of a batch that is already encoded.

        Args:
            embeddings: (distinct texts, dimensions), float32, with unit length.
            labels: as in `forward`, on the same device.

        Returns:
            A scalar, at least 0.
        """
        return contrastive(embeddings, rows_of(labels), scale=self.scale, weights=self.weights)

    def get_config_dict(self) -> dict[str, Any]:
        """The arguments of the loss, for the model card."""
        return {
            "scale": self.scale,
            "negation_margin": self.negation_margin,
            "order_weight": self.order_weight,
            "symmetric": self.symmetric,
        }

    @property
    def citation(self) -> str:
        """The BibTeX entry of the paper that introduced the method, for the model card."""
        return BIBTEX


def _check(name: str, value: float, *, above: float = -math.inf, most: float = math.inf) -> None:
    if not (math.isfinite(value) and 0 <= value <= most and value > above):
        range_ = "above 0" if above == 0 else f"from 0 to {most:g}" if most < math.inf else "from 0"
        raise ValueError(f"Expected {name} {range_}, found {value!r}.")
