"""Checkpoints: a training that was cut off goes on from one, with the result of an unbroken one.

There is one at a time. A newer one is written beside it and then takes its place, so that a whole
one is there at any moment; the hashes in it tell a damaged one.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from safetensors import SafetensorError

from db.errors import HedgerowError
from training.finetune.weight_average import WeightAverage

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from training.finetune.optimizer import ScheduledOptimizer

FOLDER = "checkpoint"
_PARTIAL = "checkpoint.partial"
_OLD = "checkpoint.old"
FOLDERS = (FOLDER, _OLD)
"""Where one may lie; the older one where the process died between two renames."""

_PLACE, _WEIGHTS, _STATE = "place.json", "model.safetensors", "state.pt"

logger = logging.getLogger(__name__)


class TrainingPosition(NamedTuple):
    """Where a training was.

    Attributes:
        step: steps done.
        best: the best value of the watched figure so far, and the step it had it at.
        misses: looks since then at which it was not better.
        losses: of the steps since the last point of its curve.
        texts: encoded in those steps.
        seconds: that they took.
    """

    step: int = 0
    best: tuple[float, int] | None = None
    misses: int = 0
    losses: tuple[float, ...] = ()
    texts: int = 0
    seconds: float = 0.0


def save(
    folder: Path,
    *,
    place: TrainingPosition,
    of: str,
    model: SentenceTransformer,
    optimizer: ScheduledOptimizer,
    average: WeightAverage,
) -> None:
    """Write a checkpoint beside the one before, then put it in its place by a rename.

    Args:
        of: what the training is determined by (a hash); another training does not go on from it.

    Raises:
        HedgerowError: it cannot be written; the one before is left.
    """
    import torch

    partial, old = folder / _PARTIAL, folder / _OLD
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _save_weights(model, partial / _WEIGHTS)
        state = {"descent": optimizer.state(), "soup": average.state()}
        torch.save(state, partial / _STATE)
        files = {name: _sha256(partial / name) for name in (_WEIGHTS, _STATE)}
        if place.best:
            files[_best(place.best[1])] = _sha256(folder / _best(place.best[1]))
        stored = {"of": of, "files": files, "place": place._asdict()}
        (partial / _PLACE).write_text(json.dumps(stored))
        shutil.rmtree(old, ignore_errors=True)
        if (folder / FOLDER).exists():
            (folder / FOLDER).rename(old)
        partial.rename(folder / FOLDER)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise _no_room(folder, error) from error
    _forget_best(folder, but={place.best[1]} if place.best else set())


def _save_weights(model: SentenceTransformer, path: Path) -> None:
    from safetensors.torch import save_model

    save_model(model, str(path))  # unlike save_file, it takes weights that two modules share


def _load_weights(model: SentenceTransformer, path: Path) -> None:
    from safetensors.torch import load_model

    load_model(model, path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _no_room(folder: Path, error: Exception) -> HedgerowError:
    """The error of a write that failed: PyTorch and safetensors have their own, of a full disk."""
    reason = str(error).strip().partition("\n")[0]
    return HedgerowError(
        f"Could not save a checkpoint in {str(folder)!r} ({reason}); free some disk space and "
        "resume the run."
    )


def newest(folder: Path, *, of: str) -> str | None:
    """The name of the newest whole checkpoint of this very training, if there is one.

    A damaged one, or one of another training, is named in the log and passed over.
    """
    for name in FOLDERS:
        if not (folder / name).exists():
            continue
        try:
            stored = json.loads((folder / name / _PLACE).read_text(encoding="utf-8"))
            if stored["of"] != of:
                logger.warning("the checkpoint in %r is of another training", name)
                continue
            _place(stored)
            damaged = [
                file
                for file, expected in stored["files"].items()
                if _sha256(_where(folder, name, file)) != expected
            ]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            logger.warning("the checkpoint in %r cannot be read: %s", name, error)
            continue
        if not damaged:
            return name
        logger.warning("the checkpoint in %r is damaged: %s", name, ", ".join(damaged))
    return None


def _where(folder: Path, name: str, file: str) -> Path:
    return folder / name / file if file in (_WEIGHTS, _STATE) else folder / file


def _place(stored: dict[str, dict[str, object]]) -> TrainingPosition:
    place = TrainingPosition(**stored["place"])  # type: ignore[arg-type]  # mypy knows no types of JSON
    best = (float(place.best[0]), int(place.best[1])) if place.best else None
    return place._replace(best=best, losses=tuple(place.losses))


def load(
    checkpoint: Path,
    *,
    model: SentenceTransformer,
    optimizer: ScheduledOptimizer,
    average: WeightAverage,
) -> TrainingPosition:
    """Bring a training back to where it was.

    Raises:
        HedgerowError: the checkpoint is not there for this process.
    """
    import torch

    try:
        stored = json.loads((checkpoint / _PLACE).read_text(encoding="utf-8"))
        _load_weights(model, checkpoint / _WEIGHTS)
        state = torch.load(checkpoint / _STATE, map_location="cpu", weights_only=True)
    except OSError as error:
        raise HedgerowError(
            f"Could not read the checkpoint {str(checkpoint)!r} ({error.strerror}); all processes "
            "of a training need the same data folder."
        ) from error
    optimizer.go_on(state["descent"])
    average.go_on(state["soup"])
    return _place(stored)


def save_best(
    folder: Path, model: SentenceTransformer, *, step: int, checkpoint: TrainingPosition | None
) -> None:
    """Set the weights of this step aside; of those before, what the checkpoint rests on stays.

    Raises:
        HedgerowError: they cannot be written.
    """
    path = folder / _best(step)
    partial = path.with_suffix(".partial")
    try:
        _save_weights(model, partial)
        partial.rename(path)
    except (OSError, RuntimeError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        raise _no_room(folder, error) from error
    older = {checkpoint.best[1]} if checkpoint and checkpoint.best else set()
    _forget_best(folder, but={step} | older)


def load_best(folder: Path, model: SentenceTransformer, *, step: int) -> None:
    """Give the model the weights of this step, which were set aside."""
    _load_weights(model, folder / _best(step))


def _best(step: int) -> str:
    return f"best-{step}.safetensors"


def _forget_best(folder: Path, *, but: Set[int]) -> None:
    kept = {_best(step) for step in but}
    for path in folder.glob("best-*"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def step_reached(folder: Path) -> int:
    """The step of the newest checkpoint in the folder, whole or not; 0 without one."""
    for name in FOLDERS:
        try:
            stored = json.loads((folder / name / _PLACE).read_text(encoding="utf-8"))
            return _place(stored).step
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return 0


def remove(folder: Path) -> None:
    """Leave no checkpoint in the folder, and nothing that one rests on."""
    for name in (*FOLDERS, _PARTIAL):
        shutil.rmtree(folder / name, ignore_errors=True)
    _forget_best(folder, but=set())
