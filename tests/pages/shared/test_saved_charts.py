"""Charts are saved as images: light, on white, with hostile texts as text."""

from xml.etree import ElementTree

import altair as alt
import numpy as np
import pytest

from db.errors import HedgerowError
from pages.components.compare import charts
from pages.components.shared.charts import plot

HOSTILE = "</text><script>alert(1)</script> & \x1b[31m\x00 ]]> =1+1"
SVG = "{http://www.w3.org/2000/svg}"


def chart(label: str = HOSTILE) -> alt.Chart:
    rows = alt.Data(values=[{"label": label, "n": 3}, {"label": "plain", "n": 5}])
    return (
        alt.Chart(rows)
        .mark_bar()
        .encode(x="n:Q", y=alt.Y("label:N", axis=alt.Axis(labelLimit=900)))
    )


def test_an_svg_is_well_formed_and_holds_a_hostile_text_as_text() -> None:
    root = ElementTree.fromstring(plot.as_svg(chart()))
    assert not list(root.iter(f"{SVG}script"))
    texts = [node.text or "" for node in root.iter(f"{SVG}text")]
    assert "</text><script>alert(1)</script> & [31m ]]> =1+1" in texts


@pytest.mark.slow
def test_pictures_have_a_white_background_the_width_of_a_page_and_enough_pixels() -> None:
    root = ElementTree.fromstring(plot.as_svg(chart("short")))
    assert next(root.iter(f"{SVG}rect")).get("fill") == "white"
    width = int(root.get("width", "0"))
    assert plot.WIDTH < width < plot.WIDTH + 200
    assert {node.get("font-size") for node in root.iter(f"{SVG}text")} == {"12px"}
    png = plot.as_png(chart("short"))
    assert png.startswith(b"\x89PNG")
    assert abs(int.from_bytes(png[16:20]) - plot.SCALE * width) <= plot.SCALE
    narrow = ElementTree.fromstring(plot.as_svg(chart("short").properties(width=200)))
    assert int(narrow.get("width", "0")) < 400, "an explicit width is kept"


@pytest.mark.slow
def test_a_chart_that_cannot_be_converted_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plot, "_on_paper", lambda chart: {"mark": 3})
    with pytest.raises(HedgerowError, match="PNG"):
        plot.as_png(chart())


@pytest.mark.slow
def test_no_picture_is_fetched_for_a_chart() -> None:
    """An address in the data is text. The converter must not open it."""
    rows = alt.Data(values=[{"url": "http://127.0.0.1:9/x.png"}])
    assert "<image" not in plot.as_svg(alt.Chart(rows).mark_text().encode(text="url:N"))


@pytest.mark.slow
def test_a_heat_map_of_many_hostile_sentences_is_saved() -> None:
    sentences = [f"<img src=x onerror=alert(1)> {n}" for n in range(80)]
    cells = np.eye(80)  # 6,400 cells: more than Altair's default
    svg = plot.as_svg(charts.heat_map(cells, sentences, low=0.0, dark=False))
    assert "&lt;img src=x" in svg and "<img" not in svg
