"""Untrusted text in labels and tooltips, which Streamlit reads as Markdown."""

import re

from curation.formatting import escape

_HIDDEN = "\N{WORD JOINER}"


def plain(text: object) -> str:
    """The text on one line, escaped so that a label or tooltip shows it literally.

    Streamlit looks for icons and emoji (``:smile:``) after Markdown has removed the escapes, so an
    invisible character after the colon prevents that.
    """
    escaped = re.sub(r"^(\d*)([-+.)])", r"\1\\\2", escape(text))  # otherwise a list item
    return re.sub(r":(?=[\w+\\-])", f":{_HIDDEN}", escaped)
