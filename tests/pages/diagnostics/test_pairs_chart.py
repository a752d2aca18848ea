"""Pairs are counted at their places, of every type, and what is marked holds whole places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.distributions import COSINE_BINS, PairCount
from db.models import Status
from pages.components.diagnostics import pairs_chart
from pages.components.diagnostics.histogram_charts import Axis
from pages.components.diagnostics.pairs_chart import (
    FARTHEST,
    Region,
    clicked,
    distance_axis,
    marked,
    told,
)
from pages.components.shared.charts.palette import OWN_SHAPES, SHAPES

LABELS = {"verbal": "Verbal negation", "word": "Hedge: single word", "mine": "Mine", "his": "His"}


def pair(type_id: str, distance: int, cosine_bin: int, number: int = 1) -> PairCount:
    return PairCount(type_id, Status.PENDING, distance, cosine_bin, number)


PAIRS = [
    pair("word", 5, 95, 3),
    pair("word", 5, 95, 4),
    pair("verbal", 5, 95),
    pair("verbal", 70, 40),
    pair("mine", 5, 95, 2),
    pair("his", 30, 99, 5),
]


def spec_of(pairs: list[PairCount] = PAIRS, **labels: str) -> dict[str, Any]:
    axis = distance_axis(pairs)
    chart = pairs_chart.draw(
        pairs, axis=axis, labels=labels or LABELS, own=("mine", "his"), dark=False
    )
    return chart.to_dict()


def symbols(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for values in spec["datasets"].values() for row in values]


def test_every_pair_is_counted_in_one_symbol() -> None:
    drawn = symbols(spec_of())
    assert sum(row["number"] for row in drawn) == sum(row.number for row in PAIRS)
    found = {(row["type_id"], row["column"], row["bin"]): row["number"] for row in drawn}
    axis = distance_axis(PAIRS)
    assert found["word", axis.bin_of(5), 95] == 7
    assert found["his", axis.bin_of(30), 99] == 5
    assert next(row["cosine"] for row in drawn if row["bin"] == 99) == "0.98 to 1.00"


def test_types_at_the_same_place_do_not_hide_each_other() -> None:
    drawn = [row for row in symbols(spec_of()) if row["bin"] == 95]
    assert len({row["x"] for row in drawn}) == len(drawn) == 3
    axis = distance_axis(PAIRS)
    assert {marked(axis, (row["x"],) * 2, (row["y"],) * 2) for row in drawn} == {
        clicked(axis, axis.bin_of(5), 95)
    }


def test_a_type_alone_at_its_place_is_in_the_middle_of_its_column() -> None:
    (row,) = [row for row in symbols(spec_of()) if row["type_id"] == "his"]
    axis = distance_axis(PAIRS)
    assert row["x"] == axis.bin_of(30) + (axis.width - 1) / 2


def test_own_types_have_a_symbol_a_colour_and_a_legend_entry() -> None:
    spec = spec_of()
    for channel in ("color", "shape"):
        scale = spec["encoding"][channel]["scale"]
        assert scale["domain"] == list(LABELS.values())
        assert len(scale["range"]) == len(LABELS)
        assert spec["encoding"][channel]["legend"]
    shapes = dict(zip(LABELS, spec["encoding"]["shape"]["scale"]["range"], strict=True))
    assert (shapes["mine"], shapes["his"]) == OWN_SHAPES[:2]
    assert shapes["verbal"] == SHAPES["verbal"]
    # Alone on the chart, an own type looks the same.
    alone = spec_of([pair("his", 30, 99)], his="His")["encoding"]["shape"]["scale"]
    assert alone == {"domain": ["His"], "range": [shapes["his"]]}


def test_a_symbol_without_an_area_is_nobodys() -> None:
    """Symbols are filled, not outlined: Vega's 'stroke' would not be seen."""
    assert "stroke" not in {*OWN_SHAPES, *SHAPES.values()}


def test_it_can_be_dragged_over_and_clicked_on() -> None:
    spec = spec_of()
    assert {param["name"] for param in spec["params"]} == {pairs_chart.BRUSH, pairs_chart.PLACE}
    assert "layer" not in spec  # Streamlit selects in plain charts
    assert spec["encoding"]["y"]["scale"]["domain"] == [-0.2, 1.0]


def test_far_outliers_leave_the_others_their_room() -> None:
    pairs = [pair("verbal", 5, 95, 5000), pair("word", 9, 95, 4000), pair("word", 1999, 60, 3)]
    axis = distance_axis(pairs)
    assert axis.end < 20
    assert clicked(axis, axis.bin_of(1999), 60).distances[1] == FARTHEST
    assert "or more" in told(axis, clicked(axis, axis.bin_of(1999), 60))


def test_a_region_that_begins_above_the_chart_holds_no_cosine_beyond_1() -> None:
    axis = Axis(1, 63)
    region = marked(axis, (-0.9, 70.0), (0.871, 1.002))
    assert region == Region((0, FARTHEST), (93, COSINE_BINS - 1))
    assert told(axis, region) == "Levenshtein distance 0 or more, cosine 0.86 to 1.00"


@given(
    width=st.sampled_from([1, 2, 5]),
    distances=st.tuples(*[st.floats(-5, 130)] * 2),
    cosines=st.tuples(*[st.floats(-1.2, 1.2)] * 2),
    distance=st.integers(0, 140),
)
def test_what_lies_in_a_region_is_selected(
    width: int, distances: tuple[float, float], cosines: tuple[float, float], distance: int
) -> None:
    axis = Axis(width, 60)
    (first, last), (low, high) = marked(axis, distances, cosines)
    assert 0 <= first <= last
    assert 0 <= low <= high < COSINE_BINS
    if min(distances) <= distance <= max(distances):
        assert first <= distance <= last


@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_symbol_is_in_its_column_on_the_axis(width: int) -> None:
    axis = Axis(width, 20 * width)
    for column in range(0, axis.end, width):
        for distance in range(column, column + width):
            assert marked(axis, (distance, distance), (0.5, 0.5)).distances[0] == column
