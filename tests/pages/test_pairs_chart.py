"""Pairs are counted at their places, for every type, and a selection contains whole places."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from curation.diagnostics.distributions import COSINE_BINS, PairCount
from db.models import Status
from pages.components.diagnostics import pairs_panel
from pages.components.diagnostics.histogram_charts import Axis
from pages.components.diagnostics.pairs_panel import (
    FARTHEST,
    Region,
    TypePairs,
    axes_of,
    clicked,
    description,
    marked,
)
from pages.components.shared.charts.plot import as_svg


def pair(distance: int, cosine_bin: int, number: int = 1, *, type_id: str = "word") -> PairCount:
    return PairCount(type_id, Status.PENDING, distance, cosine_bin, number)


PAIRS = [pair(5, 95, 3), pair(5, 95, 4), pair(6, 95), pair(70, 40), pair(30, 99, 5)]

AXES = axes_of(PAIRS)

WORDS = TypePairs("Hedge: single word", "hedge", PAIRS, AXES)


def cells(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for values in spec["datasets"].values() for row in values]


def test_every_pair_is_counted_in_one_cell_which_a_click_selects() -> None:
    spec = pairs_panel.pairs_chart(WORDS, dark=False).to_dict()
    found = cells(spec)
    assert sum(cell["number"] for cell in found) == sum(row.number for row in PAIRS)
    numbers = {(cell["x"], cell["bin"]): cell["number"] for cell in found}
    column = AXES.distance.bin_of(5)
    assert numbers[column - 0.5, 95] == (8 if AXES.distance.bin_of(6) == column else 7)
    assert next(cell["cosine"] for cell in found if cell["bin"] == 99) == "0.98 to 1.00"
    for cell in found:
        inside = ((cell["x"] + cell["x2"]) / 2,) * 2, ((cell["y"] + cell["y2"]) / 2,) * 2
        region = clicked(AXES.distance, cell["x"], cell["bin"])
        assert region == marked(AXES.distance, *inside)
    assert {param["name"] for param in spec["params"]} == {pairs_panel.BRUSH, pairs_panel.PLACE}
    assert "layer" not in spec  # Streamlit supports selections only in charts without layers
    assert spec["encoding"]["y"]["scale"]["domain"] == [-0.2, 1.0]


def test_types_with_the_same_axes_can_be_compared_also_in_a_saved_picture() -> None:
    own = TypePairs("**Mine** <b>", "negation", PAIRS[:1], AXES)
    one, other = (pairs_panel.pairs_chart(pairs, dark=False).to_dict() for pairs in (WORDS, own))
    for channel in ("x", "y"):
        assert one["encoding"][channel]["scale"] == other["encoding"][channel]["scale"]
    assert one["mark"]["color"] != other["mark"]["color"]  # their roles differ
    printed = pairs_panel.printed([WORDS, own], dark=False)
    assert [part["title"] for part in printed.to_dict()["concat"]] == [WORDS.label, own.label]
    assert "&lt;b&gt;" in as_svg(printed)


def test_far_outliers_do_not_squeeze_the_other_values() -> None:
    axis = axes_of([pair(5, 95, 5000), pair(9, 95, 4000), pair(1999, 60, 3)]).distance
    assert axis.end < 20
    assert clicked(axis, axis.bin_of(1999), 60).distances[1] == FARTHEST
    assert "or more" in description(axis, clicked(axis, axis.bin_of(1999), 60))


def test_a_region_that_starts_above_the_chart_ends_at_cosine_1() -> None:
    axis = Axis(1, 63)
    region = marked(axis, (-0.9, 70.0), (0.871, 1.002))
    assert region == Region((0, FARTHEST), (93, COSINE_BINS - 1))
    assert description(axis, region) == "Levenshtein distance 0 or more, cosine 0.86 to 1.00"


@given(
    width=st.sampled_from([1, 2, 5]),
    distances=st.tuples(*[st.floats(-5, 130)] * 2),
    cosines=st.tuples(*[st.floats(-1.2, 1.2)] * 2),
    distance=st.integers(0, 140),
)
def test_the_points_in_a_region_are_selected(
    width: int, distances: tuple[float, float], cosines: tuple[float, float], distance: int
) -> None:
    axis = Axis(width, 60)
    (first, last), (low, high) = marked(axis, distances, cosines)
    assert 0 <= first <= last
    assert 0 <= low <= high < COSINE_BINS
    if min(distances) <= distance <= max(distances):
        assert first <= distance <= last


def test_a_symbol_is_in_its_column_on_the_axis() -> None:
    for width in (1, 2, 5):
        axis = Axis(width, 20 * width)
        for distance in range(axis.end):
            column = distance - distance % width
            assert marked(axis, (distance, distance), (0.5, 0.5)).distances[0] == column
