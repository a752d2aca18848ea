"""A small project, created only with the Python API."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hedgerow

Example = Callable[[], hedgerow.Project]


@pytest.fixture
def example_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Example:
    """Creates the project of the examples: one anchor with a pending and two accepted variants."""
    monkeypatch.delenv("HEDGEROW_REVIEWER", raising=False)
    made = 0

    def make() -> hedgerow.Project:
        nonlocal made
        made += 1
        project = hedgerow.open(tmp_path / f"example {made}", reviewer="me")
        project.anchors.add(["The bridge is safe."])
        anchor = project.anchors()["uid"].iloc[0]
        project.generate(provider="rules", types=["verbal"], measure=False)
        project.write(anchor, "affixal", "The bridge is unsafe.")
        project.write(anchor, "word", "The bridge is probably safe.", cue="probably")
        return project

    return make
