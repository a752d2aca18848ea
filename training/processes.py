"""One training on several processes, as `torchrun` starts them; on one, nothing here does anything.

Each process encodes its share of a step's texts. All of them see all embeddings, so that every
text is compared with every other, and the gradients add up to those of one process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor
    from torch.nn import Parameter


class Group(NamedTuple):
    """This process among those of the training: its number, from 0 on, and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0


ALONE = Group()


@contextmanager
def joined() -> Iterator[Group]:
    """This process's group while the training lasts: that of `torchrun`, or it alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    import torch
    from torch import distributed

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Group(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()


def share(places: Sequence[int], group: Group) -> list[int]:
    """This process's part of the places, which are sorted by length: every size-th one."""
    return list(places[group.rank :: group.size])


def gathered(own: Tensor, *, count: int, group: Group) -> Tensor:
    """All processes' embeddings in the order of the places that were shared out.

    Only this process's rows carry gradients; ``add_gradients`` brings in those of the others.

    Args:
        own: (this process's texts, dimensions).
        count: texts of all processes together.
    """
    if group.size == 1:
        return own
    import torch
    from torch import distributed

    most = -(-count // group.size)
    padded = own.new_zeros(most, own.shape[1])
    padded[: len(own)] = own.detach()
    parts = [torch.empty_like(padded) for _ in range(group.size)]
    distributed.all_gather(parts, padded)
    parts[group.rank] = torch.cat([own, padded[len(own) :]])
    # Row r of process p is the place r * size + p.
    return torch.stack(parts, dim=1).flatten(0, 1)[:count]


def add_gradients(parameters: Iterable[Parameter], group: Group) -> None:
    """Make every process's gradients the sum of all: each had those of its own texts only."""
    if group.size == 1:
        return
    import torch
    from torch import distributed

    for parameter in parameters:
        if parameter.requires_grad:
            if parameter.grad is None:  # a module that none of this process's texts went through
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)


def agreed(number: int, group: Group) -> int:
    """The leading process's number, in all of them."""
    if group.size == 1:
        return number
    import torch
    from torch import distributed

    device = "cuda" if torch.cuda.is_available() else "cpu"
    told = torch.tensor([number], device=device)
    distributed.broadcast(told, src=0)
    return int(told.item())
