"""Modules that are imported when they are first used, since PyTorch takes seconds."""

from importlib import import_module
from typing import Any


class Lazily:
    """Replaces ``import torch`` at the top of a file: ``torch = Lazily("torch")``."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each object in a file for such names
            raise AttributeError(name)
        return getattr(import_module(self._module), name)
