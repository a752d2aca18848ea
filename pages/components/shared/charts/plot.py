"""Drawing charts on a page with readable text."""

from typing import Any

import altair
import streamlit as st

from pages.components.shared.charts.palette import palette

Chart = (
    altair.Chart
    | altair.LayerChart
    | altair.ConcatChart
    | altair.HConcatChart
    | altair.VConcatChart
)


def chart(drawn: Chart, *, alt: str, **more: Any) -> Any:
    """Draw a chart with its text in the page's text colour. Streamlit's grey is hard to read.

    Args:
        alt: a description for people who cannot see the chart.
        more: as for ``st.altair_chart``.

    Returns:
        The result of ``st.altair_chart``.
    """
    ink = palette(dark=st.context.theme.type == "dark").ink
    readable = drawn.configure_axis(labelColor=ink, titleColor=ink)
    readable = readable.configure_legend(labelColor=ink, titleColor=ink)
    if readable.padding is altair.Undefined:  # Streamlit would leave 20 pixels below
        # The label of the highest tick is half above the chart.
        readable = readable.properties(padding={"top": 6, "bottom": 5})
    return st.altair_chart(readable, alt=alt, **more)
