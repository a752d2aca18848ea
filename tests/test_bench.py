"""The benches: each can import its modules, and says what it measures."""

import importlib
import sys

import pytest

from tests.support.checkout import ROOT
from training.losses import contrastive

BENCHES = sorted(
    path.stem
    for path in (ROOT / "bench").glob("*.py")
    if "def main()" in path.read_text(encoding="utf-8")
)


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_says_how_it_is_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = importlib.import_module(f"bench.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 0
    assert f"python -m bench.{name}" in (bench.__doc__ or "")


@pytest.mark.slow
def test_the_bench_of_trainings_finds_every_constant_that_it_replaces() -> None:
    training = importlib.import_module("bench.training")
    with training._matching_the_library("bf16"):
        assert contrastive.HEDGE_WEIGHT == 1.0
    assert contrastive.HEDGE_WEIGHT > 1.0
