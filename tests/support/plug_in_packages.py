"""Third-party packages, as pip would install them: modules and metadata."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

WORDS_IN_COMMON = """
import numpy as np

from training.benchmarks.scorers.interface import Scorer


class WordsInCommon(Scorer):
    takes = "nothing"

    def score(self, pairs, *, asks, on_progress=None):
        common = [len({*a.split()} & {*b.split()}) for a, b in pairs]
        return np.array(common, dtype=np.float64)
"""
"""A scorer in its own module."""

Groups = Mapping[str, Mapping[str, str]]
"""Group of entry points → name → object."""

Plug = Callable[..., None]

_BLOCK = re.compile(r"^```(?:toml|python)\n# (\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, group: str, code: str, **entries: str
) -> None:
    """Create a package, and make this process find it.

    Args:
        folder: its name is the name of the package.
        entries: name of an entry point ('_' for '-') → the object in the package's module.
    """
    package = folder.name
    named = {name.replace("_", "-"): f"{package}:{what}" for name, what in entries.items()}
    _install(monkeypatch, folder, package, {f"{package}.py": code}, {group: named})


def installer(monkeypatch: pytest.MonkeyPatch, place: Path, group: str, code: str) -> Plug:
    """Installs a plug-in, by default called 'mine', whose code has a given body for BODY."""

    def made(body: str, **entries: str) -> None:
        folder = place / f"site{len(list(place.iterdir()))}" / "mine"
        whole = code.replace("BODY", body.replace("\n", "\n        "))
        install(monkeypatch, folder, group, whole, **(entries or {"mine": "Mine"}))

    return made


def install_example(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The package from docs/plug_ins.md, with one plug-in of each kind."""
    files = dict(_BLOCK.findall((ROOT / "docs" / "plug_ins.md").read_text(encoding="utf-8")))
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    files["hedgerow_example/__init__.py"] = ""
    _install(monkeypatch, folder, project["name"], files, project["entry-points"])


def _install(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    files: Mapping[str, str],
    groups: Groups,
) -> None:
    information = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir(parents=True)
    for path, code in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(code, encoding="utf-8")
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("\n".join(_lines(groups)))
    monkeypatch.syspath_prepend(folder)
    ours = {path.split("/")[0].removesuffix(".py") for path in files}
    for module in [known for known in sys.modules if known.split(".")[0] in ours]:
        monkeypatch.delitem(sys.modules, module)
    importlib.invalidate_caches()


def _lines(groups: Groups) -> Iterator[str]:
    for group, entries in groups.items():
        yield f"[{group}]"
        yield from (f"{name} = {what}" for name, what in entries.items())
        yield ""
