"""Packages of other people's, as pip would install them: a module, and what it says of itself."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

WORDS_IN_COMMON = """
import numpy as np

from training.benchmarks.scorers.interface import Scorer


class WordsInCommon(Scorer):
    takes = "nothing"

    def score(self, pairs, *, asks, on_progress=None):
        common = [len({*a.split()} & {*b.split()}) for a, b in pairs]
        return np.array(common, dtype=np.float64)
"""
"""The example of ``Scorer``'s docstring."""


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, group: str, code: str, **entries: str
) -> None:
    """Make a package there and have this process find it.

    Args:
        folder: its name is the package's.
        entries: name of an entry point ('_' for '-') → the object in the package's module.
    """
    package = folder.name
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir(parents=True)
    (folder / f"{package}.py").write_text(code, encoding="utf-8")
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name.replace('_', '-')} = {package}:{what}" for name, what in entries.items()]
    (information / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, package, raising=False)
    importlib.invalidate_caches()
