"""Hedgerow's loss over families, for your own training scripts.

`FamilyLoss`, `FamilyCollator` and `FamilyBatchSampler` plug into sentence-transformers'
SentenceTransformerTrainer. They do not depend on the rest of Hedgerow: `training.losses`, their
place, imports only torch, sentence-transformers and the standard library. docs/training.md explains
how to use them ("In a training script of your own"), and docs/examples/finetune_own_encoder.py is a
complete script.

The three names are imported when they are first used, because they load PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from training.losses.batches import FamilyBatchSampler, FamilyCollator
    from training.losses.family_loss import FamilyLoss

__all__ = ["FamilyBatchSampler", "FamilyCollator", "FamilyLoss"]

_MODULES = {
    "FamilyBatchSampler": "training.losses.batches",
    "FamilyCollator": "training.losses.batches",
    "FamilyLoss": "training.losses.family_loss",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
