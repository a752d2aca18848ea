"""Work of an encoder on several threads of a CPU, each with texts of its own.

Threads that share every product of matrices wait for each other a good part of the time where the
matrices are small, as MiniLM's are. With a batch each, encoding took a sixth less time on two
cores, and a step of a training little more than half.
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
"""Threads with texts of their own: each holds a batch in memory, in a training gradients, too."""

FEWEST_BATCHES = 16
"""With fewer, a replica of the tokenizer may take longer than it saves."""

_Batch = TypeVar("_Batch")

# How many threads share a product is one number for the whole process.
_SHARING = threading.Lock()


def threads_of(model: SentenceTransformer) -> int:
    """Threads that can each take texts of their own: 1 on a GPU, whose work is one queue."""
    import torch

    return min(torch.get_num_threads(), MOST) if model.device.type == "cpu" else 1


def products_shared_by(count: int) -> int:
    """Threads that share a product of matrices where so many have texts of their own."""
    import torch

    return max(1, torch.get_num_threads() // count)


@contextmanager
def sharing(products: int) -> Iterator[None]:
    """So many threads share a product of matrices meanwhile, in the whole process."""
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
    """Do the work with each batch, on as many threads as are of use.

    Args:
        work: called with a replica of the model, maybe from several threads at once.
        done: called in this thread, in the order of the batches; what it raises ends the work
            after what is under way.
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

    # Tokenizers can't be used by two threads at once.
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
    """A model of its own over the same weights."""
    weights = {id(weight): weight for weight in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, weights)
