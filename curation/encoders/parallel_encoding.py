"""Runs an encoder on several CPU threads, each with its own batch of texts.

With small matrices such as MiniLM's, threads that share each matrix product spend much of their
time waiting for each other. With one batch per thread, encoding took a sixth less time on two
cores, and a training step took little more than half the time.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
