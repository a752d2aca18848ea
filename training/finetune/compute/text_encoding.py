"""Encoding a step's texts with gradients: end to end, or in chunks of about one length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from curation.encoders.embeddings import token_counts
from training.finetune.compute import packing
from training.finetune.compute.processes import ALONE, Group, gathered, share

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.nn import Embedding

    from training.finetune.compute.replicas import Threads

PADDING = 0.1
"""Share of a chunk's tokens that may be padding."""

FEWEST, MOST = 8, 128
"""Number of texts in a chunk. Fewer leave the processor idle, more need too much memory."""


def chunks_of_one_length(lengths: Sequence[int], most: int = MOST) -> list[slice]:
    """Chunks of texts whose lengths in tokens are sorted, cut where padding exceeds its share.

    Args:
        most: the maximum number of texts in a chunk.
    """
    chunks: list[slice] = []
    start = tokens = 0
    for place, length in enumerate(lengths):
        texts = place - start
        padded = length * (texts + 1)
        wasteful = texts >= FEWEST and tokens + length < (1 - PADDING) * padded
        if texts == most or wasteful:
            chunks.append(slice(start, place))
            start, tokens = place, 0
        tokens += length
    if lengths:
        chunks.append(slice(start, len(lengths)))
    return chunks


SAMPLE = (
    "It is open.",
    "Nobody in the village had ever seen it open before noon.",
    "It is not open.",
    "Is it?",
    "The door at the far end of the corridor was left ajar, or so I heard.",
    "Very open.",
    "I doubt that it is.",
)
"""Sample texts of several lengths. They do not all fit into one group."""

LARGEST_DIFFERENCE = 1e-4
"""Maximum difference between the packed and the separate embedding of a text, per value."""


def can_pack(model: SentenceTransformer) -> bool:
    """Whether the model gives packed texts the same embeddings as separate ones.

    This is not the case if its attention or positions can't be replaced.
    """
    import torch

    if not packing.enable(model):
        return False
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            difference = embed(model, SAMPLE, packed=True) - embed(model, SAMPLE)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return False  # each kind of model raises its own errors
    finally:
        model.train(training)
    return bool(difference.abs().max() < LARGEST_DIFFERENCE)


def embed(
    model: SentenceTransformer,
    texts: Sequence[str],
    *,
    packed: bool = False,
    group: Group = ALONE,
    threads: Threads | None = None,
    check: Callable[[], None] = lambda: None,
) -> Tensor:
    """Embeddings of length 1: (texts, dimensions), in the order of the texts.

    Args:
        model: in training mode or not; gradients reach its weights.
        texts: distinct texts.
        packed: whether to pack the texts if the model supports it (`can_pack`).
        group: the processes that share the encoding; each calls this function with the same texts.
        threads: the model's threads, which share the encoding within the process; None means one
            thread.
        check: called before each chunk, with threads about once a second; may raise to stop.
    """
    import torch

    lengths = token_counts(model, texts).tolist()
    order = sorted(range(len(texts)), key=lengths.__getitem__)
    own = share(order, group)
    own_lengths = [lengths[place] for place in own]
    if packed:
        rows = packing.parts(own_lengths, threads.count if threads else 1)
        chunks = [packing.features(model, [texts[own[at]] for at in row]) for row in rows]
    else:
        most = MOST if threads is None else max(FEWEST, math.ceil(len(own) / (2 * threads.count)))
        slices = chunks_of_one_length(own_lengths, min(most, MOST))
        rows = [range(len(own))[chunk] for chunk in slices]
        chunks = [_features(model, [texts[own[at]] for at in row]) for row in rows]
    if threads is None or len(chunks) < 2:
        parts = _encoded(model, chunks, check)
    else:
        parts = threads.encode(chunks, _encoded, check)
    size = model.get_embedding_dimension() or 0
    encoded = torch.cat(parts) if parts else torch.zeros(0, size, device=model.device)
    encoded = encoded[_inverse([at for row in rows for at in row]).to(encoded.device)]
    sorted_ = gathered(encoded, count=len(texts), group=group)
    return torch.nn.functional.normalize(sorted_[_inverse(order).to(sorted_.device)].float(), dim=1)


def _inverse(order: Sequence[int]) -> Tensor:
    """The inverse of a permutation of the numbers from 0 on."""
    import torch

    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order, dtype=torch.long)] = torch.arange(len(order))
    return back


def _encoded(
    model: SentenceTransformer, chunks: Sequence[Mapping[str, Any]], check: Callable[[], None]
) -> list[Tensor]:
    parts = []
    with _words_looked_up_once(model, chunks):
        for features in chunks:
            check()
            parts.append(packing.encoded(model, features))
    return parts


@contextmanager
def _words_looked_up_once(
    model: SentenceTransformer, chunks: Sequence[Mapping[str, Any]]
) -> Iterator[None]:
    """Look up the word embeddings of all chunks together. The model then computes the chunks in
    order.

    The gradient of a look-up is as large as the whole vocabulary, which is more than half of
    MiniLM's weights. Computing it for each chunk took a twentieth of a step.
    """
    import torch

    words = word_embeddings(model)
    if words is None or not words.weight.requires_grad or len(chunks) < 2:
        yield
        return
    ids = [features["input_ids"] for features in chunks]
    rows = words(torch.cat([some.flatten() for some in ids])).split([some.numel() for some in ids])
    waiting = iter([row.view(*some.shape, -1) for row, some in zip(rows, ids, strict=True)])
    handle = words.register_forward_hook(lambda module, given, found: next(waiting))
    try:
        yield
    finally:
        handle.remove()


def word_embeddings(model: SentenceTransformer) -> Embedding | None:
    """The table of a model's token embeddings; None if it has no such table."""
    import torch

    transformer = getattr(model[0], "auto_model", None)
    words = transformer.get_input_embeddings() if transformer is not None else None
    return words if isinstance(words, torch.nn.Embedding) else None


def _features(model: SentenceTransformer, texts: list[str]) -> dict[str, Any]:
    import torch

    return {
        name: value.to(model.device) if isinstance(value, torch.Tensor) else value
        for name, value in model.preprocess(texts).items()
    }
