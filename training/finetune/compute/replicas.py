"""Encoding a step's texts on several CPU threads, each with its own chunks.

Threads that share each matrix product mostly wait for each other if the matrices are small: with
MiniLM, a step on two cores took as long as on one. If each thread has a part of the texts, it takes
little more than half.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from curation.encoders.embeddings import products_shared_by, sharing, threads_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

    from training.recipe.schema import Recipe

CHECK_SECONDS = 1.0
"""Seconds between two checks for a cancel."""

Chunk = Mapping[str, Any]
Encode = Callable[["SentenceTransformer", Sequence[Chunk], Callable[[], None]], "list[Tensor]"]
"""Embeddings of each chunk by a model. The last argument is called before each chunk and may
raise."""

_Found = TypeVar("_Found")


def threads_for(model: SentenceTransformer, recipe: Recipe) -> Threads | None:
    """The number of useful replicas on the model's device; None for one.

    All threads share one generator for dropout, in an unpredictable order. With dropout, only a
    single thread gives equal weights for equal recipes.
    """
    count = threads_of(model)
    if recipe.dropout != 0 or count < 2:
        return None
    return Threads(model, count)


class Threads:
    """Threads, each with a replica of the model: the same weights, but gradients of its own."""

    def __init__(self, model: SentenceTransformer, count: int) -> None:
        import torch

        self.count = count
        self._models = [model, *(_replica(model) for _ in range(count - 1))]
        self._products = products_shared_by(count)
        self._pool = ThreadPoolExecutor(
            count, initializer=torch.set_num_threads, initargs=(self._products,)
        )
        self._stopped = False

    def close(self) -> None:
        """End the threads after their current work."""
        self._pool.shutdown()

    def encode(
        self, chunks: Sequence[Chunk], encode: Encode, check: Callable[[], None]
    ) -> list[Tensor]:
        """Embeddings of each chunk, in the order of the chunks; gradients reach the weights.

        The backward pass of all chunks starts when the gradients of all have arrived.

        Args:
            check: called about once a second; may raise to stop.
        """
        import torch

        shares = _shares([_tokens(chunk) for chunk in chunks], self.count)
        device = self._models[0].device.type
        autocast = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)

        def there(number: int) -> list[Tensor]:
            # Leaving `torch.autocast` would empty the store of cast weights that all threads share.
            torch.set_autocast_enabled(device, autocast[0])
            torch.set_autocast_dtype(device, autocast[1])
            own = [chunks[place] for place in shares[number]]
            try:
                return encode(self._models[number], own, self._going_on)
            finally:  # not in the backward pass, which any of the threads may run
                torch.set_autocast_enabled(device, False)

        found = self._together(there, check)
        places = [place for share in shares for place in share]
        parts = [part for of_thread in found for part in of_thread]
        rows = torch.cat([part.detach() for part in parts]).requires_grad_()
        sizes = [len(part) for part in parts]

        def back(rows: Tensor) -> None:
            assert rows.grad is not None
            gradients = iter(rows.grad.split(sizes))
            given = [[next(gradients) for _ in share] for share in shares]
            self._back(found, given)

        rows.register_post_accumulate_grad_hook(back)
        in_order = dict(zip(places, rows.split(sizes), strict=True))
        return [in_order[place] for place in range(len(chunks))]

    def _back(self, parts: Sequence[list[Tensor]], gradients: Sequence[list[Tensor]]) -> None:
        """Each thread computes the gradients of its replica. They are then added in a fixed
        order."""
        import torch

        def back(number: int) -> None:
            if parts[number]:
                torch.autograd.backward(parts[number], gradients[number])

        self._together(back, lambda: None)
        for own, *others in zip(*(model.parameters() for model in self._models), strict=True):
            for other in others:
                if own.grad is None:
                    own.grad = other.grad
                elif other.grad is not None:
                    own.grad += other.grad
                other.grad = None

    def _together(self, work: Callable[[int], _Found], check: Callable[[], None]) -> list[_Found]:
        """The result of each thread's function, which gets the thread's number."""
        self._stopped = False
        with sharing(self._products):
            tasks = [self._pool.submit(work, number) for number in range(self.count)]
            try:
                while wait(tasks, timeout=CHECK_SECONDS).not_done:
                    check()
                return [task.result() for task in tasks]
            finally:
                self._stopped = True
                wait(tasks)

    def _going_on(self) -> None:
        if self._stopped:
            raise RuntimeError("stopped by another thread")


def _replica(model: SentenceTransformer) -> SentenceTransformer:
    """A model that shares the weights of this one, even when they change."""
    import torch

    weights = {
        id(weight): torch.nn.Parameter(weight.data, requires_grad=weight.requires_grad)
        for weight in model.parameters()
    }
    return copy.deepcopy(model, weights).train()


def _tokens(chunk: Chunk) -> int:
    return int(chunk["input_ids"].numel())


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """The chunks of each thread: the largest first, each for the thread with the least work so
    far."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        least = loads.index(min(loads))
        shares[least].append(place)
        loads[least] += sizes[place]
    return shares
