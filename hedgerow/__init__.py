"""The Python API of Hedgerow: generate and review variants, create releases, finetune encoders.

    import hedgerow

    project = hedgerow.open("my_project")
    project.anchors.add(["The door is open."])
    project.generate(provider="rules")

docs/python.md is a tutorial that starts with anchors and ends with a benchmark. `hedgerow.losses`
is for your own training scripts and does not depend on the rest of Hedgerow. The names in this
package are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.errors import HedgerowError as HedgerowError
    from hedgerow.anchor_import import AnchorImport as AnchorImport
    from hedgerow.benchmarks import Score as Score
    from hedgerow.deciding import Decided as Decided
    from hedgerow.language_models import LanguageModel as LanguageModel
    from hedgerow.own_packages import ShadowedPackageError as ShadowedPackageError
    from hedgerow.project import Project as Project
    from hedgerow.project import open as open
    from hedgerow.project import restore as restore
    from hedgerow.releases import Release as Release
    from hedgerow.studies import StudyResult as StudyResult
    from hedgerow.studies import Tradeoff as Tradeoff
    from hedgerow.trained import TrainedEncoder as TrainedEncoder

__all__ = [
    "AnchorImport",
    "Decided",
    "HedgerowError",
    "LanguageModel",
    "Project",
    "Release",
    "Score",
    "ShadowedPackageError",
    "StudyResult",
    "Tradeoff",
    "TrainedEncoder",
    "open",
    "restore",
]

_PLACES = {
    "AnchorImport": "hedgerow.anchor_import",
    "Decided": "hedgerow.deciding",
    "HedgerowError": "db.errors",
    "LanguageModel": "hedgerow.language_models",
    "Project": "hedgerow.project",
    "Release": "hedgerow.releases",
    "Score": "hedgerow.benchmarks",
    "ShadowedPackageError": "hedgerow.own_packages",
    "StudyResult": "hedgerow.studies",
    "Tradeoff": "hedgerow.studies",
    "TrainedEncoder": "hedgerow.trained",
    "open": "hedgerow.project",
    "restore": "hedgerow.project",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("hedgerow")
    if name not in _PLACES:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    # Imported here so that hedgerow.losses loads no other module of Hedgerow.
    from hedgerow.own_packages import require_own_packages

    require_own_packages("db", "curation", "training")
    found = getattr(import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
