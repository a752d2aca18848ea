"""Charts are saved as images: light, on white, with hostile texts as text."""

from xml.etree import ElementTree

import altair as alt
import pytest

from db.errors import HedgerowError
from pages.components.shared.charts import save

HOSTILE = "</text><script>alert(1)</script> & \x1b[31m\x00 ]]> =1+1"
SVG = "{http://www.w3.org/2000/svg}"


def chart(label: str = HOSTILE) -> alt.Chart:
    rows = alt.Data(values=[{"label": label, "n": 3}, {"label": "plain", "n": 5}])
    axis = alt.Axis(labelLimit=900)
    return alt.Chart(rows).mark_bar().encode(x="n:Q", y=alt.Y("label:N", axis=axis))


def test_an_svg_is_well_formed_and_holds_a_hostile_text_as_text() -> None:
    svg = save.as_svg(chart())
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    texts = [node.text or "" for node in root.iter(f"{SVG}text")]
    assert "</text><script>alert(1)</script> & [31m ]]> =1+1" in texts


@pytest.mark.slow
def test_an_svg_has_a_white_background_and_the_width_of_a_page() -> None:
    root = ElementTree.fromstring(save.as_svg(chart("short")))
    background = next(root.iter(f"{SVG}rect"))
    assert background.get("fill") == "white"
    assert save.WIDTH < int(root.get("width", "0")) < save.WIDTH + 200
    sizes = {node.get("font-size") for node in root.iter(f"{SVG}text")}
    assert sizes == {"12px"}


@pytest.mark.slow
def test_an_explicit_width_is_kept() -> None:
    root = ElementTree.fromstring(save.as_svg(chart("short").properties(width=200)))
    assert int(root.get("width", "0")) < 400


@pytest.mark.slow
def test_a_chart_that_cannot_be_converted_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(save, "_on_paper", lambda chart: {"mark": 3})
    with pytest.raises(HedgerowError, match="could not be saved as PNG"):
        save.as_png(chart())


@pytest.mark.slow
def test_a_png_has_triple_resolution() -> None:
    svg = ElementTree.fromstring(save.as_svg(chart("short")))
    png = save.as_png(chart("short"))
    assert png.startswith(b"\x89PNG")
    width = int.from_bytes(png[16:20])
    assert abs(width - save.SCALE * int(svg.get("width", "0"))) <= save.SCALE


@pytest.mark.slow
def test_no_picture_is_fetched_for_a_chart() -> None:
    """An address in the data is text. The converter must not open it."""
    rows = alt.Data(values=[{"url": "http://127.0.0.1:9/x.png"}])
    svg = save.as_svg(alt.Chart(rows).mark_text().encode(text="url:N"))
    assert "<image" not in svg
