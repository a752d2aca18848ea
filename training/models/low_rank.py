"""A trained encoder as a low-rank change of its base encoder.

The change of each linear layer's weights is reduced to its largest singular values, which is the
best approximation of that rank. For a run with LoRA, whose changes have a low rank, it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from curation.encoders.adapter_folders import DOWN, PREFIX, UP
from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

BYTES = 2
"""Bytes per number in float16."""

ENTRY = 120
"""Maximum number of bytes for a tensor in the header of a file, without its name."""


class LowRank(NamedTuple):
    """The change of an encoder's linear layers, approximated with a low rank.

    Attributes:
        rank: the rank of every layer's two matrices.
        layers: the names of the layers that training has changed.
        tensors: their matrices with peft's names, in float16.
        share: the share of the total change of all weights (by sum of squares) that it contains, 0
            to 1.
        share_of_layers: the same, for the change of these layers only.
    """

    rank: int
    layers: list[str]
    tensors: dict[str, Tensor]
    share: float
    share_of_layers: float


class _Change(NamedTuple):
    """The change of a layer's weights, shape (output, input), float32."""

    layer: str
    matrix: Tensor


def low_rank(
    trained: SentenceTransformer,
    base: Mapping[str, Tensor],
    *,
    rank: int | None,
    largest: int,
    what: str,
) -> LowRank:
    """Compute the low-rank change of a training run.

    Args:
        base: the initial weights, named as in the trained encoder's state.
        rank: by default, the largest one whose matrices fit into a file of `largest` bytes.
        what: the name of the trained encoder, for messages.

    Raises:
        HedgerowError: no linear layer has changed.
    """
    changes = list(_changes(trained, base))
    if not changes:
        raise HedgerowError(
            f"The linear layers of {what} equal those of its base, so an adapter would be empty."
        )
    shapes = [(change.layer, *change.matrix.shape) for change in changes]
    useful = max(min(shape) for _, *shape in shapes)
    cut = min(rank or _most_that_fit(shapes, largest), useful)
    tensors: dict[str, Tensor] = {}
    all_of_them = sum(_squares(change.matrix) for change in changes)
    left_out = 0.0
    for change in changes:
        down, up = _factors(change.matrix, cut)
        tensors |= {f"{PREFIX}{change.layer}{DOWN}": down, f"{PREFIX}{change.layer}{UP}": up}
        left_out += _squares(change.matrix.cpu() - up.float() @ down.float())
    held = max(0.0, all_of_them - left_out)
    everything = sum(
        _squares(value.float() - base[name].float()) for name, value in trained.state_dict().items()
    )
    layers = [change.layer for change in changes]
    return LowRank(cut, layers, tensors, held / everything, held / all_of_them)


def _changes(trained: SentenceTransformer, base: Mapping[str, Tensor]) -> Iterator[_Change]:
    """The changes of the transformer's linear layers that are not zero."""
    import torch

    own = {id(value): name for name, value in trained.named_parameters()}
    transformer = getattr(trained[0], "model", None)
    for layer, module in transformer.named_modules() if transformer is not None else ():
        if isinstance(module, torch.nn.Linear):
            matrix = (module.weight.detach() - base[own[id(module.weight)]]).float()
            if bool(matrix.any()):
                yield _Change(layer, matrix)


def _factors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Two matrices whose product is the best approximation of this one: (rank, input) and (output,
    rank)."""
    import torch

    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    roots = values[:rank].sqrt()  # split evenly, so that float16 is equally precise for both
    down, up = roots[:, None] * right[:rank], left[:, :rank] * roots
    missing = rank - len(roots)  # a layer may be smaller than the rank
    down = torch.nn.functional.pad(down, (0, 0, 0, missing))
    up = torch.nn.functional.pad(up, (0, missing))
    return down.half().contiguous().cpu(), up.half().contiguous().cpu()


def _squares(matrix: Tensor) -> float:
    return float(matrix.double().square().sum())


def _most_that_fit(shapes: Sequence[tuple[str, int, int]], largest: int) -> int:
    """The largest rank at which all matrices and their names fit; at least 1."""
    names = sum(2 * (len(f"{PREFIX}{layer}{DOWN}") + ENTRY) for layer, *_ in shapes)
    of_one = sum(BYTES * (rows + columns) for _, rows, columns in shapes)
    return max(1, (largest - names) // of_one)
