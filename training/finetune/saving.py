"""Saving a trained model completely or not at all. `training.hub.model_card` writes its card."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

MODEL_FOLDER = "model"
PARTIAL_FOLDER = "model.partial"
"""A model is written here and then renamed, so that a half-written one is never used."""


def save_model(model: SentenceTransformer, folder: Path) -> None:
    """Write the model to a temporary folder in `folder`, then rename it.

    The card, `README.md`, is written after the model has been measured.

    Raises:
        HedgerowError: it cannot be written.
    """

    def write(place: Path) -> None:
        model.save_pretrained(str(place), create_model_card=False)

    save_whole(write, folder, MODEL_FOLDER)


def save_whole(write: Callable[[Path], None], folder: Path, name: str) -> None:
    """Let a function write a model to a temporary folder, then rename it to `name` in `folder`.

    Raises:
        HedgerowError: it cannot be written.
    """
    partial = folder / PARTIAL_FOLDER
    shutil.rmtree(partial, ignore_errors=True)
    try:
        write(partial)
        partial.rename(folder / name)
    except (OSError, SafetensorError) as error:  # SafetensorError is raised when the disk is full
        raise HedgerowError(
            f"Could not save the model in {str(folder)!r} ({error}); free some disk space and "
            "train again."
        ) from error


def remove_partial(folder: Path) -> None:
    """Delete a model that was not written completely."""
    shutil.rmtree(folder / PARTIAL_FOLDER, ignore_errors=True)


def require_disk_space(model: SentenceTransformer, folder: Path) -> None:
    """Check the disk space before a long training run instead of failing after it.

    Raises:
        HedgerowError: the weights are larger than the free space at `folder`.
    """
    require_space(size_of(model.parameters()), folder)


def size_of(parameters: Iterable[Tensor]) -> int:
    """The size of the weights in bytes."""
    return sum(weights.numel() * weights.element_size() for weights in parameters)


def require_space(needed: int, folder: Path) -> None:
    """Check the disk space before a long training run instead of failing after it.

    Args:
        needed: bytes.

    Raises:
        HedgerowError: this is more than the free space at `folder`.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HedgerowError(
            f"The model needs {needed / 1e6:.0f} MB of disk space at {str(folder)!r}, found "
            f"{free / 1e6:.0f} MB; free some disk space."
        )
