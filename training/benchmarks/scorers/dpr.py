"""Dense passage retrieval (Karpukhin et al., EMNLP 2020): one encoder for questions, one for texts.

The name of such a model joins both names with a plus sign: QUESTION_MODEL+CONTEXT_MODEL.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from curation.encoders.checkpoint_files import architectures, read_json
from curation.encoders.loading import BareTransformer, load_transformer
from curation.encoders.model_folders import encoder_folder
from db.errors import HedgerowError
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import (
    Pair,
    Progress,
    Scorer,
    batches,
    finite,
    sides,
)
from training.models.display_names import JOINED_BY

CLASSES = ("DPRQuestionEncoder", "DPRContextEncoder")
"""The classes of the two encoders in transformers."""

BATCH = 64

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


class Halves(NamedTuple):
    """The names of a model's two encoders."""

    question: str
    context: str


def halves_of(name: str) -> Halves | None:
    """The two encoders in a name; None if it is the name of a single model.

    A folder may have a plus sign in its name, too.
    """
    if os.path.isdir(os.path.expanduser(name)):
        return None
    cuts = [place for place, sign in enumerate(name) if sign == JOINED_BY]
    pairs = [Halves(name[:cut].strip(), name[cut + 1 :].strip()) for cut in cuts]
    return next((pair for pair in pairs if all(map(_may_be_a_model, pair))), None)


def _may_be_a_model(name: str) -> bool:
    return bool(_HUB_NAME.fullmatch(name)) or os.path.isdir(os.path.expanduser(name))


def require_halves(name: str) -> Halves:
    """The two encoders in a name.

    Raises:
        HedgerowError: it is the name of a single model.
    """
    if halves := halves_of(name):
        return halves
    raise HedgerowError(
        f"Expected both encoders of a DPR model as QUESTION_MODEL{JOINED_BY}CONTEXT_MODEL, found "
        f"{name[:200]!r}; use two folders, or two models on the model hub."
    )


def require_half(folder: Path, number: int) -> None:
    """Check that a folder contains this encoder of a DPR model.

    Args:
        number: 0 for the encoder of questions, 1 for the encoder of texts.

    Raises:
        HedgerowError: it is another model.
    """
    found = architectures(read_json(folder / "config.json"))
    if CLASSES[number] not in found:
        place = "before" if number == 0 else "after"
        raise HedgerowError(
            f"Expected a {CLASSES[number]} {place} the {JOINED_BY!r}, found "
            f"{', '.join(found) or 'no architecture'} in {str(folder)!r}; use the two encoders "
            "of a DPR model."
        )


class Dpr(Scorer):
    """The dot product of a question's and a text's embedding, as DPR was trained with.

    Two sentences are compared by the cosine, the first one as the question.
    """

    architecture = "dpr"
    takes_prompts = True

    def __init__(self, question: BareTransformer, context: BareTransformer) -> None:
        self.question, self.context = question, context

    @classmethod
    def load(cls, name: str) -> Self:
        """The two encoders of this name."""
        halves = require_halves(name)
        for number, half in enumerate(halves):
            require_half(encoder_folder(half), number)
        return cls(*(load_transformer(*half) for half in zip(halves, CLASSES, strict=True)))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Each distinct text of a side is encoded once."""
        its = sides(self.prompted(pairs, asks))
        of_queries, of_documents = its.progress(on_progress)
        left = _embeddings(self.question, its.queries, of_queries)
        right = _embeddings(self.context, its.documents, of_documents)
        if asks == "similarity":
            left, right = (rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (left, right))
        return finite(np.einsum("ij,ij->i", left[its.first], right[its.second]))


def _embeddings(
    encoder: BareTransformer, texts: Sequence[str], on_progress: Progress
) -> np.ndarray:
    """The pooled output for each text, shape (len(texts), dimension), float64."""
    import torch

    model, tokenizer = encoder
    longest = min(model.config.max_position_embeddings, tokenizer.model_max_length)
    order, found = [], []
    for numbers in batches(texts, len, size=BATCH, on_progress=on_progress):
        batch = tokenizer(
            [texts[number] for number in numbers],
            padding=True,
            truncation=True,
            max_length=longest,
            return_tensors="pt",
        )
        with torch.inference_mode():
            pooled = model(**batch.to(model.device)).pooler_output
        order += numbers
        found.append(pooled.double().cpu().numpy())
    return np.concatenate(found)[np.argsort(order)]
