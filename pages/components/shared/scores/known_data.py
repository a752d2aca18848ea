"""The benchmarks and the data that a project has for them, with labels."""

from collections.abc import Sequence
from typing import Any

from curation.release.freezing import release_numbers
from db.models import Split
from pages.components.shared.shell import open_project
from training.benchmarks.catalogue import all_benchmarks
from training.benchmarks.data.file_reading import HUB
from training.benchmarks.data.sources import DataChoice, KeptData, kept_data
from training.benchmarks.definition import Benchmark
from training.benchmarks.tasks.own_families import Hedgerow


def known_data() -> dict[str, DataChoice]:
    """A readable name → each benchmark with data from the project or the model hub."""
    folder = open_project.settings().data_folder
    public = {
        f"{kind.title}: {name}": choice
        for kind in all_benchmarks()
        if kind is not Hedgerow
        for name, choice in data_names(kind, kept_data(folder, kind.id)).items()
    }
    own = {
        f"{Hedgerow.title}: release {number}": DataChoice(
            benchmark=Hedgerow.id, release=number, split=Split.TEST
        )
        for number in open_project.ask(release_numbers)
    }
    return own | public


def data_names(kind: type[Benchmark[Any]], kept: Sequence[KeptData]) -> dict[str, DataChoice]:
    """The choices by label. Files with equal names get a part of their hash."""
    found: dict[str, DataChoice] = {}
    for entry in kept:
        name = entry.name
        if name in found:
            name = f"{entry.name} ({entry.file.rpartition('/')[2][:6]})"
        found[name] = entry.choice
    if kind.hub:
        found[f"{kind.hub.removeprefix(HUB)} (model hub)"] = DataChoice(benchmark=kind.id)
    return found
