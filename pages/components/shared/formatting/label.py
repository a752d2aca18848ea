"""Somebody's words where Streamlit reads Markdown: labels of buttons and options, and tooltips."""

import re

from curation.markdown import escape

_HIDDEN = "\N{WORD JOINER}"


def plain(text: object) -> str:
    """The text on one line, so that a label or a tooltip shows it as it is.

    Streamlit looks for its icons and for emoji (``:smile:``) in what Markdown has left of a text,
    where no escaping is seen any more: a character that nobody sees keeps those apart.
    """
    escaped = re.sub(r"^(\d*)([-+.)])", r"\1\\\2", escape(text))  # else the item of a list
    return re.sub(r":(?=[\w+\\-])", f":{_HIDDEN}", escaped)
