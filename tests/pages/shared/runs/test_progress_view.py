"""How a run's progress is put into words."""

from __future__ import annotations

import pytest

from pages.components.shared.runs import progress_view


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "less than a minute"), (80, "about 1 min"), (900, "about 15 min"), (9000, "2.5 hours")],
)
def test_times_are_told_as_exactly_as_they_are_known(seconds: float, words: str) -> None:
    assert words in progress_view.duration(seconds)
