"""Checkpoints: what a training that was cut off goes on from, with the result of an unbroken one."""

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


class Place(NamedTuple):
    """Where a training was.

    Attributes:
        step: steps done.
        best: the best value of the watched figure so far, and the step it had it at.
    """

    step: int
    best: tuple[float, int] | None = None


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
    from safetensors.torch import save_file

    partial, old = folder / _PARTIAL, folder / _OLD
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        weights = {name: value.contiguous() for name, value in model.state_dict().items()}
        save_file(weights, partial / "model.safetensors")
        state = {
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        torch.save(state, partial / "state.pt")
        (partial / "place.json").write_text(json.dumps({"of": of, **place._asdict()}))
        shutil.rmtree(old, ignore_errors=True)
        if (folder / FOLDER).exists():
            (folder / FOLDER).rename(old)
        partial.rename(folder / FOLDER)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError) as error:  # the latter where torch meets a full disk
        raise HedgerowError(
            f"Could not save a checkpoint in {str(folder)!r} ({error}); free some disk space and "
            "resume the run."
        ) from error


def found(folder: Path, *, of: str) -> Path | None:
    """The newest whole checkpoint of this very training, if there is one."""
    for name in (FOLDER, _OLD):  # the older one where the process died between two renames
        place = folder / name / "place.json"
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

    model.load_state_dict(load_file(checkpoint / "model.safetensors"))
    state: dict[str, Any] = torch.load(checkpoint / "state.pt", weights_only=True)
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    stored = json.loads((checkpoint / "place.json").read_text())
    return Place(stored["step"], tuple(stored["best"]) if stored["best"] else None)


def remove(folder: Path) -> None:
    """Leave no checkpoint in the folder."""
    for name in (FOLDER, _PARTIAL, _OLD):
        shutil.rmtree(folder / name, ignore_errors=True)
