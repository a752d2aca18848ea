"""Checkpoints: a training that was cut off goes on from one, with the result of an unbroken one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from db.errors import HedgerowError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

FOLDER = "checkpoint"
_PARTIAL = "checkpoint.partial"
_OLD = "checkpoint.old"
_BEST = "best.safetensors"
_PLACE, _WEIGHTS = "place.json", "model.safetensors"


class Place(NamedTuple):
    """Where a training was.

    Attributes:
        step: steps done.
        best: the best value of the watched figure so far, and the step it had it at.
        misses: looks since then at which it was not better.
    """

    step: int
    best: tuple[float, int] | None = None
    misses: int = 0


def save(
    folder: Path,
    *,
    place: Place,
    of: str,
    model: SentenceTransformer,
    optimizer: Optimizer,
    schedule: LRScheduler,
) -> None:
    """Write a checkpoint beside the one before, then put it in its place by a rename.

    Args:
        of: what the training is determined by (a hash); another training does not go on from it.

    Raises:
        HedgerowError: it cannot be written.
    """
    import torch

    partial, old = folder / _PARTIAL, folder / _OLD
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _save_weights(model, partial / _WEIGHTS)
        state = {
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        torch.save(state, partial / "state.pt")
        (partial / _PLACE).write_text(json.dumps({"of": of, **place._asdict()}))
        shutil.rmtree(old, ignore_errors=True)
        if (folder / FOLDER).exists():
            (folder / FOLDER).rename(old)
        partial.rename(folder / FOLDER)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError) as error:  # the latter where torch meets a full disk
        raise _no_room(folder, error) from error


def _save_weights(model: SentenceTransformer, path: Path) -> None:
    from safetensors.torch import save_file

    weights = {name: value.contiguous() for name, value in model.state_dict().items()}
    save_file(weights, path)


def _no_room(folder: Path, error: Exception) -> HedgerowError:
    return HedgerowError(
        f"Could not save a checkpoint in {str(folder)!r} ({error}); free some disk space and "
        "resume the run."
    )


def found(folder: Path, *, of: str) -> Path | None:
    """The newest whole checkpoint of this very training, if there is one."""
    for name in (FOLDER, _OLD):  # the older one where the process died between two renames
        place = folder / name / _PLACE
        try:
            if json.loads(place.read_text()).get("of") == of:
                return place.parent
        except (OSError, ValueError):
            continue
    return None


def load(
    checkpoint: Path,
    *,
    model: SentenceTransformer,
    optimizer: Optimizer,
    schedule: LRScheduler,
) -> Place:
    """Bring a training back to where it was."""
    import torch
    from safetensors.torch import load_file

    model.load_state_dict(load_file(checkpoint / _WEIGHTS))
    state: dict[str, Any] = torch.load(checkpoint / "state.pt", weights_only=True)
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    stored = json.loads((checkpoint / _PLACE).read_text())
    best = tuple(stored["best"]) if stored["best"] else None
    return Place(stored["step"], best, stored["misses"])


def save_best(folder: Path, model: SentenceTransformer) -> None:
    """Set the model's weights aside, in place of those set aside before.

    Raises:
        HedgerowError: they cannot be written.
    """
    partial = folder / f"{_BEST}.partial"
    try:
        _save_weights(model, partial)
        partial.rename(folder / _BEST)
    except (OSError, RuntimeError) as error:
        raise _no_room(folder, error) from error


def load_best(folder: Path, model: SentenceTransformer) -> None:
    """Give the model the weights that were set aside."""
    from safetensors.torch import load_file

    model.load_state_dict(load_file(folder / _BEST))


def step_reached(folder: Path) -> int:
    """The step of the newest whole checkpoint in the folder; 0 without one."""
    for name in (FOLDER, _OLD):
        try:
            return int(json.loads((folder / name / _PLACE).read_text())["step"])
        except (OSError, ValueError, KeyError):
            continue
    return 0


def remove(folder: Path) -> None:
    """Leave no checkpoint in the folder."""
    for name in (FOLDER, _PARTIAL, _OLD):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in (_BEST, f"{_BEST}.partial"):
        (folder / name).unlink(missing_ok=True)
