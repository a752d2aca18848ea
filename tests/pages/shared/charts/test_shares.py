"""The charts draw their numbers to scale, and texts as data."""

from collections.abc import Iterator
from typing import Any

import altair as alt
import pytest

from curation.diagnostics.acceptance import Outcomes
from curation.diagnostics.distributions import COSINE_BINS
from pages.components.diagnostics import histogram_charts
from pages.components.diagnostics.histogram_charts import CUT, FILL, KEPT, character_axis
from pages.components.shared.charts import shares
from pages.components.shared.charts.shares import HeatCell
from tests.support.hostile import stored

LABELS = {"verbal": "Verbal negation", "word": "Hedge: single word", "phrase": "Hedge: phrase"}
HOSTILE = list(stored().values())


def rows(chart: alt.Chart | alt.LayerChart) -> Iterator[dict[str, Any]]:
    """All data of the chart."""
    for values in chart.to_dict()["datasets"].values():
        yield from values


def bars(chart: alt.LayerChart) -> list[dict[str, Any]]:
    return [row for row in rows(chart) if "low" in row]


def without_data(chart: alt.Chart | alt.LayerChart) -> str:
    spec = chart.to_dict()
    return str({key: value for key, value in spec.items() if key != "datasets"})


def test_distances_are_cut_exactly_at_the_threshold() -> None:
    counts = {"verbal": {3: 10, 4: 5}, "word": {59: 1, 60: 2, 61: 4, 62: 8}}
    shown_bars = bars(histogram_charts.levenshtein(counts, labels=LABELS, threshold=60, dark=False))
    number = {
        (row, part): sum(b["number"] for b in shown_bars if (b["row"], b["part"]) == (row, part))
        for row in (0, 1)
        for part in (KEPT, CUT)
    }
    assert number == {(0, KEPT): 15, (0, CUT): 0, (1, KEPT): 3, (1, CUT): 12}
    divided = sorted(
        (b for b in shown_bars if b["start"] == 60), key=lambda b: b["low"], reverse=True
    )
    assert [b["part"] for b in divided] == [KEPT, CUT]  # one on top of the other
    assert divided[0]["high"] == divided[1]["low"]


def test_each_row_is_scaled_to_its_highest_bar() -> None:
    counts = {"verbal": {3: 10, 30: 5}, "word": {3: 1000, 9: 250}}
    chart = histogram_charts.levenshtein(counts, labels=LABELS, threshold=60, dark=True)
    heights = {(b["row"], b["number"]): b["low"] - b["high"] for b in bars(chart)}
    for (row, number), height in heights.items():
        most = max(counts["verbal" if row == 0 else "word"].values())
        assert height == pytest.approx(FILL * number / most)
    assert all(0 <= b["high"] < b["low"] <= 2 for b in bars(chart))
    assert [row["label"] for row in rows(chart) if "label" in row] == [
        "Verbal negation\n15",
        "Hedge: single word\n1,250",
    ]


def test_far_outliers_are_in_the_last_bar() -> None:
    counts = {"verbal": {5: 5000, 30: 4000, 1999: 3}}
    axis = character_axis(counts)
    assert axis.end < 100
    shown_bars = bars(histogram_charts.levenshtein(counts, labels=LABELS, threshold=60, dark=False))
    last = max(shown_bars, key=lambda b: b["start"])
    assert (last["number"], last["part"], last["end"]) == (3, CUT, axis.end)
    assert "or more" in last["range"]
    assert sum(b["number"] for b in shown_bars) == 9003


def test_bins_and_axis_are_the_same_for_every_threshold() -> None:
    counts = {"verbal": {5: 50, 30: 40, 41: 3}}

    def seen(threshold: int) -> tuple[set[tuple[float, float]], list[float]]:
        chart = histogram_charts.levenshtein(counts, labels=LABELS, threshold=threshold, dark=False)
        places = {(bar["start"], bar["end"]) for bar in bars(chart)}
        return places, chart.to_dict()["layer"][1]["layer"][0]["encoding"]["x"]["scale"]["domain"]

    first = seen(60)
    for threshold in (1, 30, 41, 100, 500, 5000):
        assert seen(threshold) == first


def test_a_threshold_in_the_charts_range_is_drawn_between_kept_and_cut_values() -> None:
    counts = {"verbal": {5: 50, 30: 40, 41: 3}}

    def rules(threshold: int) -> list[float]:
        chart = histogram_charts.levenshtein(counts, labels=LABELS, threshold=threshold, dark=False)
        return [row["threshold"] for row in rows(chart) if "threshold" in row]

    assert rules(30) == [31]  # where the bar of 30 ends and that of 31 begins
    assert rules(500) == []


def test_short_distances_have_one_bar_per_character() -> None:
    axis = character_axis({"verbal": {3: 1, 20: 2}})
    assert (axis.width, axis.bin_of(7), axis.description(7)) == (1, 7, "7 characters")
    assert character_axis({}).end >= 2


def test_cosines_are_drawn_at_their_bins() -> None:
    counts = {"word": {COSINE_BINS - 1: 4, 90: 8, 40: 1}}
    shown_bars = bars(histogram_charts.cosine(counts, labels=LABELS, dark=False))
    assert [(b["start"], b["end"], b["number"]) for b in shown_bars] == [
        (-0.2, -0.18, 1),
        (0.8, 0.82, 8),
        (0.98, 1.0, 4),
    ]


def test_a_heat_map_shows_numbers_and_shares() -> None:
    cells = [HeatCell("a", "x", 1, 4), HeatCell("a", "y", 0, 4), HeatCell("b", "x", 0, 0)]
    columns = {"x": "X", "y": "Y"}
    chart = shares.heat_map(cells, columns=columns, heading="Letter", of="All", dark=False)
    values = [(row["column"], row["label"], row["percent"], row["share"]) for row in rows(chart)]
    assert values == [("X", "1", "25.0%", 0.25), ("Y", "–", "", 0.0), ("X", "–", "", 0.0)]


def test_outcomes_add_up_to_a_full_bar() -> None:
    groups = {"a": Outcomes(accepted=6, edited=2, rejected=1, conflict=1), "b": Outcomes(pending=5)}
    shown_bars = list(rows(shares.acceptance(groups, dark=False)))
    parts = [row for row in shown_bars if "end" in row]
    assert [(p["outcome"], p["start"], p["end"]) for p in parts] == [
        ("accepted as written", 0.0, 0.6),
        ("edited", 0.6, 0.8),
        ("in conflict", 0.8, pytest.approx(0.9)),
        ("rejected", pytest.approx(0.9), 1.0),
    ]
    assert [row["label"] for row in shown_bars if "label" in row] == ["80.0%"]


def test_numbers_at_the_ends_of_bars_fit_at_every_width() -> None:
    # Vega reserves room for labels beyond the axis at one width only. On a narrower page they would
    # be cut off, so bars that fill the axis have their numbers in the margin.
    longest = shares.ranking(
        [("may", 7), ("seem", 3)], of=10, name="cue", title="n", colour="#000", dark=False
    )
    whole = shares.acceptance({"a": Outcomes(accepted=6)}, dark=False)
    for chart, end in ((longest, 7), (whole, 1)):
        assert chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, end]


@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_are_only_data(dark: bool) -> None:
    counts = [(text, number) for number, text in enumerate(HOSTILE, start=1)]
    labels = dict(zip(LABELS, HOSTILE, strict=False))
    charts: list[alt.Chart | alt.LayerChart] = [
        shares.ranking(counts, of=9, name="cue", title="variants", colour="#000", dark=dark),
        shares.acceptance({text: Outcomes(accepted=1) for text in HOSTILE}, dark=dark),
        histogram_charts.cosine({"verbal": {3: 1}}, labels=labels, dark=dark),
    ]
    for chart in charts:
        spec = without_data(chart)
        assert not [
            text for text in HOSTILE if len(text) > 9 and (repr(text)[1:-1] in spec or text in spec)
        ]
        for row in rows(chart):
            assert all(isinstance(value, str | int | float) for value in row.values())
    shown = {row["value"] for row in rows(charts[0]) if "value" in row}
    assert shown == set(HOSTILE)
