"""The losses on their own: what they import, and their examples."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

NOT_LOADED = (
    "app cli curation db pages training alembic altair openai pydantic_settings sqlalchemy "
    "sqlmodel streamlit typer"
).split()


def loaded(code: str) -> set[str]:
    """The names of the modules that a new Python process has loaded after this code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(json.loads(found.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_nothing_else_of_ours_is_loaded() -> None:
    found = loaded("from hedgerow.losses import FamilyBatchSampler, FamilyCollator, FamilyLoss")
    assert found.isdisjoint(NOT_LOADED)
    ours = {name for name in found if name.partition(".")[0] == "hedgerow"}
    assert {name for name in ours if not name.startswith("hedgerow.losses")} == {"hedgerow"}


def test_torch_is_loaded_with_the_first_name_that_needs_it() -> None:
    found = loaded("import hedgerow.losses, hedgerow.losses.contrastive")
    assert "hedgerow.losses.contrastive" in found
    assert found.isdisjoint({*NOT_LOADED, "torch", "sentence_transformers"})


def test_a_missing_name_is_reported() -> None:
    import hedgerow.losses

    assert {"FamilyBatchSampler", "FamilyCollator", "FamilyLoss"} <= set(dir(hedgerow.losses))
    with pytest.raises(AttributeError, match="'hedgerow.losses' has no attribute 'Loss'"):
        hedgerow.losses.Loss  # noqa: B018


@pytest.mark.parametrize("module", ["batch_sampler", "collator", "family_loss"])
def test_the_examples_of_the_docstrings_run(
    module: str, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "your-encoder").symlink_to(tiny_encoder)
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(__import__(f"hedgerow.losses.{module}", fromlist=["*"]))
    assert found.attempted > 0 and found.failed == 0
