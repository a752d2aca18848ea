"""The tests themselves: importing them is cheap, and a part of `make soak` has tests."""

import pytest

from tests.conftest import HEAVY_AT_COLLECTION, SOAK_PARTS
from tests.support.checkout import ROOT


def test_no_test_imports_pytorch_before_it_runs(request: pytest.FixtureRequest) -> None:
    assert request.config.stash[HEAVY_AT_COLLECTION] == []


def test_each_part_of_soak_has_tests() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    marks = {part for part in SOAK_PARTS if any(f'.soak("{part}")' in text for text in texts)}
    assert marks == set(SOAK_PARTS)
