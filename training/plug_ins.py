"""The plug-ins of all kinds in other installed packages."""

from typing import Any

from curation.encoders.model_folders import LOADERS
from curation.generation.providers.installed import PLUG_INS as PROVIDERS
from curation.plug_ins import ListedPlugIn, PlugInGroup
from curation.release.export.export_formats import PLUG_INS as EXPORT_FORMATS
from training.benchmarks.catalogue import PLUG_INS as BENCHMARKS
from training.benchmarks.scorers.architecture import PLUG_INS as SCORERS

GROUPS: tuple[PlugInGroup[Any], ...] = (PROVIDERS, EXPORT_FORMATS, LOADERS, BENCHMARKS, SCORERS)
"""The kinds of plug-ins, in the order in which data pass them."""


def list_plug_ins() -> list[ListedPlugIn]:
    """The plug-ins of every kind. They are imported, so that errors are found."""
    return [found for group in GROUPS for found in group.listed()]
