"""One training run on several processes started by `torchrun`; with one, nothing happens here.

Each process encodes its share of a step's texts. All processes get all embeddings, so that every
text is compared with every other, and the gradients add up to those of a single process.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from db.errors import HedgerowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor
    from torch.nn import Parameter

PATIENCE = timedelta(days=30)
"""Time that processes wait for the leading one, which may wait for another training run. If it
dies, they fail at once."""


class Group(NamedTuple):
    """The number of this process, from 0 on, and the number of processes."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0


ALONE = Group()


@contextmanager
def joined() -> Iterator[Group]:
    """The group of processes during training: that of `torchrun`, or this process alone.

    Raises:
        HedgerowError: there are fewer GPUs than processes here, or the others cannot be reached.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1:
        _meet_the_others()
    for name in ("WORLD_SIZE", "LOCAL_RANK"):
        os.environ.pop(
            name, None
        )  # the library's trainer would also divide the steps among the processes
    if size == 1:
        yield ALONE
        return
    from torch import distributed

    yield Group(distributed.get_rank(), distributed.get_world_size())
    distributed.destroy_process_group()  # not after an error: it would wait for the others


def _meet_the_others() -> None:
    import torch
    from torch import distributed

    on_gpus = torch.cuda.is_available()
    if on_gpus:
        _take_gpu(int(os.environ.get("LOCAL_RANK", "0")))
    with _failures_reported():
        distributed.init_process_group("nccl" if on_gpus else "gloo", timeout=PATIENCE)
    # The library treats processes that the trainer doesn't know as a mistake.
    logging.getLogger("transformers.training_args").setLevel(logging.ERROR)


def _take_gpu(number: int) -> None:
    import torch

    if number >= torch.cuda.device_count():
        raise HedgerowError(
            f"Expected at most {torch.cuda.device_count()} processes on this machine, one per "
            "GPU; lower --nproc-per-node."
        )
    torch.cuda.set_device(number)


@contextmanager
def _failures_reported() -> Iterator[None]:
    """Convert the error after the end of another process to one sentence."""
    try:
        yield
    except RuntimeError as error:
        import torch

        if isinstance(error, torch.OutOfMemoryError):
            raise
        raise HedgerowError(
            "Another process of this training run has ended or can't be reached; check its "
            "messages, then start the run again."
        ) from error


def share(places: Sequence[int], group: Group) -> list[int]:
    """This process's part of the places, which are sorted by length: every size-th one."""
    return list(places[group.rank :: group.size])


def gathered(own: Tensor, *, count: int, group: Group) -> Tensor:
    """The embeddings of all processes, in the order of the distributed places.

    Only this process's rows have gradients; ``add_gradients`` adds those of the others.

    Args:
        own: shape (this process's texts, dimensions).
        count: the number of texts of all processes.

    Raises:
        HedgerowError: another process is gone.
    """
    if group.size == 1:
        return own
    import torch
    from torch import distributed

    own = own.float()  # a process without texts has no bfloat16 ones either
    most = -(-count // group.size)
    padded = own.new_zeros(most, own.shape[1])
    padded[: len(own)] = own.detach()
    parts = [torch.empty_like(padded) for _ in range(group.size)]
    with _failures_reported():
        distributed.all_gather(parts, padded)
    parts[group.rank] = torch.cat([own, padded[len(own) :]])
    # Row r of process p is the place r * size + p.
    return torch.stack(parts, dim=1).flatten(0, 1)[:count]


def add_gradients(parameters: Iterable[Parameter], group: Group) -> None:
    """Set every process's gradients to the sum over all processes.

    A weight that no process used keeps no gradient, so that it does not decay, as with one process.
    Sparse gradients become dense.

    Raises:
        HedgerowError: another process is gone.
    """
    if group.size == 1:
        return
    import torch
    from torch import distributed

    trained = [parameter for parameter in parameters if parameter.requires_grad]
    used = torch.tensor([float(p.grad is not None) for p in trained], device=trained[0].device)
    with _failures_reported():
        distributed.all_reduce(used)
    gradients = []
    for parameter, count in zip(trained, used.tolist(), strict=True):
        if count and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if parameter.grad is not None:
            parameter.grad = parameter.grad.to_dense()
            gradients.append(parameter.grad)
    if not gradients:
        return
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    with _failures_reported():
        distributed.all_reduce(flat)
    sums = flat.split([gradient.numel() for gradient in gradients])
    for gradient, total in zip(gradients, sums, strict=True):
        gradient.copy_(total.view_as(gradient))


def agreed(number: int, group: Group) -> int:
    """The leading process's number, in every process. Waits until all of them have called this.

    Raises:
        HedgerowError: another process is gone.
    """
    if group.size == 1:
        return number
    import torch
    from torch import distributed

    on_gpus = distributed.get_backend() == "nccl"
    message = torch.tensor([number], device="cuda" if on_gpus else "cpu")
    with _failures_reported():
        distributed.broadcast(message, src=0)
        return int(message.item())
