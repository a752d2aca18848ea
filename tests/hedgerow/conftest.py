"""A small project, created only with the Python API."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hedgerow
from tests.training.conftest import tiny_encoder as tiny_encoder
from tests.training.support.shared import made_once, shared_folder

Example = Callable[[], hedgerow.Project]


def _make(folder: Path) -> None:
    with hedgerow.open(folder / "project", reviewer="me") as project:
        project.anchors.add(["The bridge is safe."])
        anchor = project.anchors()["uid"].iloc[0]
        project.generate(provider="rules", types=["verbal"], measure=False)
        project.write(anchor, "affixal", "The bridge is unsafe.")
        project.write(anchor, "word", "The bridge is probably safe.", cue="probably")


@pytest.fixture
def example_project(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The project of the examples, new with each call: one anchor with a pending and two accepted
    variants."""
    made = made_once(shared_folder(tmp_path_factory), "example", _make) / "project"
    places = iter(range(1, 999))

    def make() -> hedgerow.Project:
        place = home / f"example {next(places)}"
        return hedgerow.open(shutil.copytree(made, place), reviewer="me")

    return make
