"""Descriptions of a run's progress."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import streamlit as st

from db.models import Run
from pages.components.shared.runs import progress_view


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "less than a minute"), (80, "about 1 min"), (900, "about 15 min"), (9000, "2.5 hours")],
)
def test_times_are_no_more_exact_than_they_are_known(seconds: float, words: str) -> None:
    assert words in progress_view.duration(seconds)


def page_text(
    monkeypatch: pytest.MonkeyPatch, moments: list[tuple[int, int]], *, total: int = 1_000
) -> list[str]:
    """The descriptions in a session at these moments: (seconds since the start, steps done)."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(st, "session_state", {})
    return [
        progress_view.time_left(
            Run(
                id=1,
                attempt=1,
                kind="generate",
                step=step,
                total=total,
                started_at=began,
                heartbeat_at=began + timedelta(seconds=seconds),
            )
        )
        for seconds, step in moments
    ]


def test_the_time_left_waits_for_enough_steps_and_then_does_not_jump(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first answers come at once, after a minute of loading; then one comes each second.
    moments = [(0, 0), (60, 1), (62, 9), (64, 11), (70, 17), (80, 27), (90, 37), (200, 147)]
    shown = page_text(monkeypatch, moments)
    assert shown == [*[""] * 5, *(f"about {minutes} min left" for minutes in (12, 13, 14))]


def test_a_run_that_has_run_for_long_shows_its_time_left_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert page_text(monkeypatch, [(1_000, 500), (1_002, 501)]) == [
        "about 17 min left",
        "about 17 min left",
    ]


def test_one_of_a_few_long_steps_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert page_text(monkeypatch, [(30, 0), (600, 1)], total=4) == ["", "about 30 min left"]
