"""The benches: each can import its modules, and says what it measures."""

import importlib
import sys

import pytest

from tests.support.checkout import ROOT

BENCHES = sorted(
    path.stem
    for path in (ROOT / "bench").glob("*.py")
    if "def main()" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_says_how_it_is_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = importlib.import_module(f"bench.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 0
    assert f"python -m bench.{name}" in (bench.__doc__ or "")
