"""The weight of an encoder from its configuration, for estimating its pace from another one."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.encoders.adapter_folders import base_folder

BUILT_IN_WEIGHT = 6.0 * 384**2
"""The weight of the built-in encoder, as in `weight_of`."""

_LAYERS = ("num_hidden_layers", "n_layers", "num_layers")
_WIDTH = ("hidden_size", "dim", "d_model")
"""The keys in the configurations of BERT, DistilBERT and T5."""


def weight_of(folder: Path) -> float:
    """The number of layers times the square of their width, from a model's configuration; 0 if
    unknown.

    The time that a transformer takes for a text is roughly proportional to it.
    """
    folder = base_folder(folder) or folder
    for file in (folder / "config.json", folder / "0_Transformer" / "config.json"):
        if file.is_file():
            return _weight(file, file.stat().st_mtime_ns)
    return 0.0


@lru_cache(maxsize=64)
def _weight(file: Path, _changed: int) -> float:
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        layers = next((config[name] for name in _LAYERS if config.get(name)), 0)
        width = next((config[name] for name in _WIDTH if config.get(name)), 0)
        return float(layers) * float(width) ** 2
    except (OSError, ValueError, TypeError, AttributeError):
        return 0.0
