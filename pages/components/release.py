"""Download the data section of a paper about a release."""

from functools import partial

import streamlit as st

from curation.release.report.writing import ENDINGS, Form, report_text
from pages.components.shared.shell import open_project


def draw(number: int) -> None:
    """Offer the data section of a paper; the text is written on click."""
    st.header(f"Describe release {number} in a paper", anchor=False)
    st.text(
        "A data section with tables: counts, types with definitions and examples, who wrote the "
        "variants and at what cost, thresholds and rules, review, agreement, licences, and a "
        "citation."
    )
    with st.container(horizontal=True, key="report"):
        for form, label in {Form.LATEX: "LaTeX", Form.MARKDOWN: "Markdown"}.items():
            st.download_button(
                label,
                partial(open_project.ask, report_text, number, form),
                f"hedgerow-release-{number}.{ENDINGS[form]}",
                "text/plain",
                key=f"report-{form}",
                icon=":material/download:",
                on_click="ignore",
            )
