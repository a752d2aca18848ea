"""Checkpoints of a run, and its saved model: each is written completely or not at all.

The trainer writes each checkpoint to its own folder, named after the step. A list of file hashes is
written last. A folder without the list, or with a file of another hash, is ignored. The previous
checkpoint is removed only after that, so there is always a complete one. The weights of the best
state so far are in a separate file, which a checkpoint refers to by its step.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from db.errors import HedgerowError
from db.named_files import sha256_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


_PREFIX = "checkpoint-"
"""The prefix of a checkpoint's name in transformers, before the step."""

_PLACE = "place.json"

logger = logging.getLogger(__name__)


@dataclass
class TrainingPosition:
    """The progress of a training run that is not in the trainer's own state.

    Attributes:
        best: the best value of the watched metric so far, and its step.
        misses: the number of evaluations since then without improvement.
        losses: the losses of the steps since the last point of the curve.
    """

    best: tuple[float, int] | None = None
    misses: int = 0
    losses: list[float] = field(default_factory=list)


def folder_of(folder: Path, step: int) -> Path:
    """The folder of the checkpoint after this step."""
    return folder / f"{_PREFIX}{step}"


@contextmanager
def whole(folder: Path, step: int, *, position: TrainingPosition, of: str) -> Iterator[None]:
    """A context for writing the checkpoint after this step, which then replaces the previous one.

    Args:
        of: a hash of everything that determines the training; other training runs do not continue
            from it.

    Raises:
        HedgerowError: it cannot be written; the previous one is kept.
    """
    path = folder_of(folder, step)
    with _removed_unless_written(path):
        shutil.rmtree(path, ignore_errors=True)
        yield
        files = [file for file in path.iterdir() if file.is_file()]
        if position.best:
            files.append(folder / _best(position.best[1]))
        hashes = {str(file.relative_to(folder)): sha256_of(file) for file in files}
        stored = {"of": of, "files": hashes, "place": asdict(position)}
        partial = path / f"{_PLACE}.partial"
        partial.write_text(json.dumps(stored))
        partial.rename(path / _PLACE)
    remove(folder, but=step)


@contextmanager
def _removed_unless_written(path: Path) -> Iterator[None]:
    """Translate errors: PyTorch and safetensors have their own for a full disk."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        _delete(path)
        reason = str(error).strip().partition("\n")[0]
        raise HedgerowError(
            f"Could not save a checkpoint in {str(path.parent)!r} ({reason}); free some disk "
            "space and resume the run."
        ) from error


def save_weights(model: SentenceTransformer, path: Path) -> None:
    """Write all weights to this file."""
    from safetensors.torch import save_model

    save_model(model, str(path))  # unlike save_file, it supports weights that two modules share


def load_weights(model: SentenceTransformer, path: Path) -> None:
    """Load the weights in this file into the model."""
    from safetensors.torch import load_model

    load_model(model, path)


def newest(folder: Path, *, of: str) -> int:
    """The step of the newest complete checkpoint of this training run; 0 without one.

    Damaged checkpoints and those of other runs are logged and skipped.
    """
    for step in _steps(folder):
        name = folder_of(folder, step).name
        try:
            stored = _stored(folder, step)
            if stored["of"] != of:
                logger.warning("the checkpoint in %r is from another run", name)
                continue
            position_at(folder, step)
            hashes = stored["files"].items()
            damaged = [file for file, expected in hashes if sha256_of(folder / file) != expected]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            logger.warning("the checkpoint in %r cannot be read: %s", name, error)
            continue
        if not damaged:
            return step
        logger.warning("the checkpoint in %r is damaged: %s", name, ", ".join(damaged))
    return 0


def step_reached(folder: Path) -> int:
    """The step of the newest checkpoint in the folder; 0 without one."""
    return next(_steps(folder), 0)


def _steps(folder: Path) -> Iterator[int]:
    """The steps with a complete checkpoint, newest first."""
    steps = (path.parent.name.removeprefix(_PREFIX) for path in folder.glob(f"*/{_PLACE}"))
    return iter(sorted((int(step) for step in steps if step.isdecimal()), reverse=True))


def position_at(folder: Path, step: int) -> TrainingPosition:
    """The progress after this step, which has a checkpoint.

    Raises:
        HedgerowError: this process cannot find the checkpoint.
    """
    try:
        return TrainingPosition(**_stored(folder, step)["place"])
    except OSError as error:
        raise HedgerowError(
            f"Could not read the checkpoint {str(folder_of(folder, step))!r} ({error.strerror}); "
            "all processes of a run need the same data folder."
        ) from error


def _stored(folder: Path, step: int) -> dict[str, Any]:
    return json.loads((folder_of(folder, step) / _PLACE).read_text(encoding="utf-8"))


def save_best(folder: Path, model: SentenceTransformer, *, step: int) -> None:
    """Save the weights of this step separately. Earlier ones are kept if the checkpoint needs them.

    Raises:
        HedgerowError: they cannot be written.
    """
    path = folder / _best(step)
    partial = path.with_suffix(".partial")
    with _removed_unless_written(partial):
        save_weights(model, partial)
        partial.rename(path)
    kept = {path.name} | _needed(folder, step_reached(folder))
    for older in folder.glob("best-*"):
        if older.name not in kept:
            _delete(older)


def load_best(folder: Path, model: SentenceTransformer, *, step: int) -> None:
    """Load the separately saved weights of this step into the model."""
    load_weights(model, folder / _best(step))


def _best(step: int) -> str:
    return f"best-{step}.safetensors"


def remove(folder: Path, *, but: int = 0) -> None:
    """Delete all checkpoints in the folder and their files.

    Args:
        but: the step of a checkpoint to keep; 0 keeps none.
    """
    kept = _needed(folder, but)
    # Earlier versions used other names for checkpoints.
    for path in (*folder.glob("checkpoint*"), *folder.glob("best-*")):
        if path.name not in kept:
            _delete(path)


def _needed(folder: Path, step: int) -> set[str]:
    """The names of the files in the checkpoint after this step; empty at step 0."""
    if not step:
        return set()
    best = position_at(folder, step).best
    return {folder_of(folder, step).name} | ({_best(best[1])} if best else set())


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# -- saving ---------------------------------------------------------------------------------------
#
# Saving a trained model completely or not at all. `training.model_card` writes its card.


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
