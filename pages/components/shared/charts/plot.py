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
    """Draw a chart with its words in the page's ink: Streamlit's grey is too light to be read.

    Args:
        alt: what is in it, for those who don't see it.
        more: as for ``st.altair_chart``, which also says what is given back.
    """
    ink = palette(dark=st.context.theme.type == "dark").ink
    readable = drawn.configure_axis(labelColor=ink, titleColor=ink)
    readable = readable.configure_legend(labelColor=ink, titleColor=ink)
    return st.altair_chart(readable, alt=alt, **more)
