"""Drawing charts with readable text, and saving them without a network as SVG or PNG.

Streamlit's own menu saves only PNG, in the colours of the page. The saved pictures always have
light colours, a white background, and letters that are large enough to print.
"""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import altair
import streamlit as st

from db.errors import HedgerowError
from pages.components.shared.charts.palette import palette

Chart = (
    altair.Chart
    | altair.LayerChart
    | altair.ConcatChart
    | altair.HConcatChart
    | altair.VConcatChart
)


Draw = Callable[..., Chart]
"""Draws a chart; called with ``dark``, whether the page is dark."""


def is_dark() -> bool:
    """Whether the page is dark."""
    return st.context.theme.type == "dark"


def chart(draw: Draw, *, alt: str, **more: Any) -> Any:
    """Draw a chart with its text in the page's text colour. Streamlit's grey is hard to read.

    Args:
        alt: a description for people who cannot see the chart.
        more: as for ``st.altair_chart``.

    Returns:
        The result of ``st.altair_chart``.
    """
    ink = palette(dark=is_dark()).ink
    readable = draw(dark=is_dark()).configure_axis(labelColor=ink, titleColor=ink)
    readable = readable.configure_legend(labelColor=ink, titleColor=ink)
    if readable.padding is altair.Undefined:  # Streamlit would leave 20 pixels below
        # The label of the highest tick is half above the chart.
        readable = readable.properties(padding={"top": 6, "bottom": 5})
    return st.altair_chart(readable, alt=alt, **more)


# -- Saving a chart as a picture without a network: SVG for a paper, PNG for slides ---------------


logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
"""A conversion takes about a second."""

WIDTH = 680
"""Width in pixels of a chart that fills the page: two thirds of a sheet of paper at 96 dpi."""

SCALE = 3
"""PNG pixels per chart pixel: about 290 dpi."""

_FONT = "Arial, Helvetica, Liberation Sans, DejaVu Sans, sans-serif"

_PAPER: dict[str, Any] = {
    "font": _FONT,
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "view": {"stroke": None},
}

_PARTS = ("facet", "concat", "hconcat", "vconcat", "repeat")
"""Charts of several parts have their widths in the parts."""

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CONVERTER = Path(__file__).with_name("convert.py")

MIME = {"svg": "image/svg+xml", "png": "image/png"}


def chart_to_save(draw: Draw, *, name: str, alt_text: str) -> None:
    """A chart in the page's colours, and the two buttons that save it.

    Args:
        name: the chart's name, unique on the page. It must not contain user text.
        alt_text: a description for people who cannot see the chart.
    """
    chart(draw, alt=alt_text, key=f"chart-{name}")
    save_buttons(draw, name=name)


def save_buttons(draw: Draw, *, name: str) -> None:
    """Two buttons that save a chart. It is drawn and converted only when one is pressed.

    Args:
        name: the file's name without its ending, unique on the page. It must not contain user text.
    """
    with st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        for kind, mime in MIME.items():
            st.download_button(
                kind.upper(),
                data=partial(_saved, draw, kind),
                file_name=f"hedgerow-{name}.{kind}",
                mime=mime,
                key=f"save-{name}-{kind}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
                help=f"Save the chart as {kind.upper()} in the light theme, on white.",
            )


def _saved(draw: Draw, kind: str) -> bytes:
    return _converted(draw(dark=False), kind)


def as_svg(chart: Chart) -> str:
    """The chart as an SVG document; texts in it are escaped.

    Raises:
        HedgerowError: the converter failed.
    """
    return _converted(chart, "svg").decode()


def as_png(chart: Chart) -> bytes:
    """The chart as a PNG of ``SCALE`` times its size.

    Raises:
        HedgerowError: the converter failed.
    """
    return _converted(chart, "png")


def _converted(chart: Chart, kind: str) -> bytes:
    # The version of Vega-Lite that Altair writes, as '6.1'.
    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    command = [sys.executable, "-P", str(_CONVERTER), kind, version, str(SCALE)]
    spec = json.dumps(_printable(_on_paper(chart))).encode()
    try:
        done = subprocess.run(
            command, input=spec, capture_output=True, timeout=PATIENCE_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("no %s: %s %s", kind, error, getattr(error, "stderr", b"")[-2000:])
        raise HedgerowError(
            f"The chart could not be saved as {kind.upper()}; the app's terminal shows the reason."
        ) from error
    return done.stdout


def _printable(value: Any) -> Any:
    """The same without characters that XML does not allow, such as NUL and escape."""
    if isinstance(value, str):
        return _NOT_IN_XML.sub("", value)
    if isinstance(value, dict):
        return {key: _printable(part) for key, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, list) else value


def _on_paper(chart: Chart) -> dict[str, Any]:
    """The chart's specification with a fixed size, a white background and its own fonts."""
    with altair.data_transformers.enable("default", max_rows=None):
        spec = chart.to_dict()
    config = spec.get("config", {})
    for part, values in _PAPER.items():
        config[part] = config.get(part, {}) | values if isinstance(values, dict) else values
    spec |= {"background": "white", "padding": 12, "config": config}
    if not any(part in spec for part in _PARTS) and spec.get("width", "container") == "container":
        spec["width"] = WIDTH
    return spec
