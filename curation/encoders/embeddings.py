"""Fast embeddings and cosine similarities: each distinct text is encoded once, sorted by length.

``curation.encoders.loading`` loads the model.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# -- Several CPU threads, each with its own batch of texts ----------------------------------------
#
# With small matrices such as MiniLM's, threads that share each matrix product spend much of their
# time waiting for each other. With one batch per thread, encoding took a sixth less time on two
# cores, and a training step took little more than half the time.

MOST = 4
"""The maximum number of threads.

Each holds a batch and, during training, its gradients in memory.
"""

FEWEST_BATCHES = 16
"""With fewer batches, replicating the tokenizer may take longer than it saves."""

_Batch = TypeVar("_Batch")

# The number of threads per matrix product is a setting of the whole process.
_SHARING = threading.Lock()


def threads_of(model: SentenceTransformer) -> int:
    """How many threads can each take a batch: 1 on a GPU, which works through a single queue."""
    import torch

    return min(torch.get_num_threads(), MOST) if model.device.type == "cpu" else 1


def products_shared_by(count: int) -> int:
    """How many threads share each matrix product when `count` threads each have their own batch."""
    import torch

    return max(1, torch.get_num_threads() // count)


@contextmanager
def sharing(products: int) -> Iterator[None]:
    """Within this context, `products` threads share each matrix product, in the whole process."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(products)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def for_each_batch(
    model: SentenceTransformer,
    batches: Sequence[_Batch],
    work: Callable[[SentenceTransformer, _Batch], None],
    done: Callable[[_Batch], None],
) -> None:
    """Process each batch, on as many threads as help.

    Args:
        work: called with a replica of the model, possibly from several threads at once.
        done: called in this thread, in batch order. If it raises, batches under way finish and the
            rest are cancelled.
    """
    count = threads_of(model) if len(batches) >= FEWEST_BATCHES else 1
    if count < 2 or not _SHARING.acquire(blocking=False):
        for batch in batches:
            work(model, batch)
            done(batch)
        return
    try:
        _on_threads(count, model, batches, work, done)
    finally:
        _SHARING.release()


def _on_threads(
    count: int,
    model: SentenceTransformer,
    batches: Sequence[_Batch],
    work: Callable[[SentenceTransformer, _Batch], None],
    done: Callable[[_Batch], None],
) -> None:
    import torch

    # Two threads can't use the same tokenizer at once.
    replicas: SimpleQueue[SentenceTransformer] = SimpleQueue()
    for own in [model, *(_replica(model) for _ in range(count - 1))]:
        replicas.put(own)

    def task(batch: _Batch) -> None:
        own = replicas.get()
        try:
            work(own, batch)
        finally:
            replicas.put(own)

    products = products_shared_by(count)
    with (
        sharing(products),
        ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(products,)) as pool,
    ):
        tasks = [pool.submit(task, batch) for batch in batches]
        try:
            for batch, its in zip(batches, tasks, strict=True):
                its.result()
                done(batch)
        finally:
            for its in tasks:
                its.cancel()


def _replica(model: SentenceTransformer) -> SentenceTransformer:
    """Return a copy of the model that shares its weights."""
    weights = {id(weight): weight for weight in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, weights)


# Measured with MiniLM on two CPU cores: batch sizes 16, 32, 64 and 128 differ by at most 8%.
BATCH_SIZE = 64

# Tokens per batch on a CPU. With texts of 135 tokens, batches of 16 took a tenth less time than
# batches of 32 or 64.
TOKENS = 2048

# Rows processed at a time in pair_cosines: 8,192 x 384 floats are 12 MB.
COSINE_CHUNK = 8192

ProgressCallback = Callable[[int, int], None]
"""Called with (distinct texts done, distinct texts in total).

It may raise an exception to cancel.
"""


def encode_distinct(
    model: SentenceTransformer,
    texts: Sequence[str],
    *,
    prompt: str | None = None,
    unit_length: bool = True,
    on_progress: ProgressCallback | None = None,
) -> np.ndarray:
    """Encode `texts` into an array of shape (len(texts), dimension), float32.

    Each distinct text is encoded once, sorted by number of tokens so that batches contain hardly
    any padding. A text's row does not depend on the other texts except for floating-point noise
    (about 1e-6).

    Args:
        prompt: prepended to every text; None for the model's default prompt, if it has one.
        unit_length: whether to scale each row to length 1.

    Raises:
        HedgerowError: the encoder returns numbers that are not finite.
    """
    distinct, (index,) = _distinct(texts)
    embeddings = _encode(
        model, distinct, prompt=prompt, unit_length=unit_length, on_progress=on_progress
    )
    return embeddings[index]


def retrieval_prompts(model: SentenceTransformer) -> tuple[str, str]:
    """Return the prompts that the model's configuration sets for queries and for documents.

    Both are "" if the model has a default prompt, because that is prepended to every text anyway.
    """
    prompts = model.prompts
    if model.default_prompt_name:
        return "", ""
    document = next((prompts[n] for n in ("document", "passage") if prompts.get(n)), "")
    return prompts.get("query") or "", document


def pair_cosines(
    model: SentenceTransformer,
    pairs: Sequence[tuple[str, str]],
    *,
    on_progress: ProgressCallback | None = None,
) -> np.ndarray:
    """Cosine similarity of each pair, shape (len(pairs),), float32 in [-1, 1].

    Each distinct text is encoded once.

    Raises:
        HedgerowError: as in `encode_distinct`.
    """
    distinct, (left, right) = _distinct([a for a, _ in pairs], [b for _, b in pairs])
    embeddings = _encode(model, distinct, on_progress=on_progress)
    cosines = np.empty(len(pairs), dtype=np.float32)
    for start in range(0, len(pairs), COSINE_CHUNK):
        rows = slice(start, start + COSINE_CHUNK)
        cosines[rows] = np.einsum("ij,ij->i", embeddings[left[rows]], embeddings[right[rows]])
    return np.clip(cosines, -1.0, 1.0)


def _distinct(*columns: Iterable[str]) -> tuple[list[str], list[np.ndarray]]:
    """Return the distinct texts of all columns and, per column, the row of each of its texts."""
    rows: dict[str, int] = {}
    indices = [
        np.array([rows.setdefault(text, len(rows)) for text in column], dtype=np.int64)
        for column in columns
    ]
    return list(rows), indices


def _encode(
    model: SentenceTransformer,
    texts: list[str],
    *,
    prompt: str | None = None,
    unit_length: bool = True,
    on_progress: ProgressCallback | None,
) -> np.ndarray:
    """Embed distinct texts in batches, longest texts first; rows are in the order of `texts`.

    Starting with the longest makes a batch that does not fit into memory fail at once, not at the
    end.
    """
    embeddings = np.empty((len(texts), model.get_embedding_dimension() or 0), dtype=np.float32)
    if on_progress:
        on_progress(0, len(texts))
    lengths = token_counts(model, texts)
    order = np.argsort(-lengths, kind="stable")
    most = TOKENS if model.device.type == "cpu" else None
    batches = list(_batches(order, lengths, texts=BATCH_SIZE, tokens=most))
    encoded = 0

    def encode(encoder: SentenceTransformer, batch: np.ndarray) -> None:
        embeddings[batch] = encoder.encode(
            [texts[i] for i in batch],
            prompt=prompt,
            batch_size=len(batch),
            show_progress_bar=False,
            normalize_embeddings=unit_length,
        )
        if not np.isfinite(embeddings[batch]).all():
            raise HedgerowError(
                "Expected finite embeddings, found infinite or undefined numbers: the encoder's "
                "weights are damaged or its training diverged; choose another encoder."
            )

    def done(batch: np.ndarray) -> None:
        nonlocal encoded
        encoded += len(batch)
        if on_progress:
            on_progress(encoded, len(texts))

    for_each_batch(model, batches, encode, done)
    return embeddings


def _batches(
    order: np.ndarray, lengths: np.ndarray, *, texts: int, tokens: int | None
) -> Iterator[np.ndarray]:
    """Split texts into batches, longest texts first, limited by number of texts and of tokens.

    A text over the token limit is a batch by itself.
    """
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = texts if tokens is None else min(texts, max(1, tokens // longest))
        yield order[start : start + size]
        start += size


def token_counts(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Count each text's tokens, or its characters if the model has its own kind of tokenizer.

    The count includes special tokens and stops at the model's maximum input length.

    Tokenizing twice costs 1% of the encoding time, and sorting by tokens instead of characters
    saves a sixth of it (measured on the starter corpus).
    """
    from transformers import PreTrainedTokenizerBase

    tokenizer = getattr(model, "tokenizer", None)  # a plug-in's encoder may have no tokenizer
    if not texts or not isinstance(tokenizer, PreTrainedTokenizerBase):
        return np.array([len(text) for text in texts], dtype=np.int64)
    limit = model.max_seq_length
    tokens = tokenizer(
        list(texts),
        truncation=limit is not None,
        max_length=limit,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    return np.array([len(ids) for ids in tokens], dtype=np.int64)


# -- reading pace ---------------------------------------------------------------------------------


PACE = "characters_per_second"
"""The name of a run's figure for encoding speed, in characters as `characters` counts them."""

MARKS = 9
"""Characters that a text's start and end tokens count for. With them, a token has 4.5 to 4.8
characters in each bundled corpus, where texts average 56 to 99 characters; without them 3.9 to 4.4.
"""

PER_TOKEN = 4.6
"""Characters per token in English, on average."""


def characters(texts: Iterable[str], *, longest: int | None = None) -> int:
    """How many characters an encoder reads in these texts.

    Args:
        longest: the maximum tokens per text; the rest is cut off.
    """
    return round(sum(length(len(text), longest=longest) for text in texts))


def length(letters: float, *, longest: int | None = None) -> float:
    """How many characters an encoder reads in a text of this length, or of this average length."""
    whole = letters + MARKS
    return whole if longest is None else min(whole, longest * PER_TOKEN)
