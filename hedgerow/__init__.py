"""Hedgerow from Python: from sentences to reviewed variants, a release and a finetuned encoder.

    import hedgerow

    project = hedgerow.open("my_project")
    project.anchors.add(["The door is open."])
    project.generate(provider="rules")

docs/python.md walks from anchors to a benchmark. For training scripts of your own there is
`hedgerow.losses`, which needs nothing of the rest: names of this package are imported when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.errors import HedgerowError as HedgerowError
    from hedgerow.data.anchors import AnchorImport as AnchorImport
    from hedgerow.data.deciding import Decided as Decided
    from hedgerow.data.releases import Release as Release
    from hedgerow.models.benchmarks import Score as Score
    from hedgerow.models.language_models import LanguageModel as LanguageModel
    from hedgerow.models.trained import TrainedEncoder as TrainedEncoder
    from hedgerow.own_packages import ShadowedPackageError as ShadowedPackageError
    from hedgerow.project import Project as Project
    from hedgerow.project import open as open

__all__ = [
    "AnchorImport",
    "Decided",
    "HedgerowError",
    "LanguageModel",
    "Project",
    "Release",
    "Score",
    "ShadowedPackageError",
    "TrainedEncoder",
    "open",
]

_PLACES = {
    "AnchorImport": "hedgerow.data.anchors",
    "Decided": "hedgerow.data.deciding",
    "HedgerowError": "db.errors",
    "LanguageModel": "hedgerow.models.language_models",
    "Project": "hedgerow.project",
    "Release": "hedgerow.data.releases",
    "Score": "hedgerow.models.benchmarks",
    "ShadowedPackageError": "hedgerow.own_packages",
    "TrainedEncoder": "hedgerow.models.trained",
    "open": "hedgerow.project",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("hedgerow")
    if name not in _PLACES:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    # Here, so that the losses load nothing of ours but themselves.
    from hedgerow.own_packages import require_own_packages

    require_own_packages("db", "curation", "training")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
