"""Hostile text in LaTeX."""

import re

from curation.markdown import one_line

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After \\ and booktabs' rules, a cell that began with one of these would be an argument.
    "[": "{[}",
    "*": "{*}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPED)))


def escaped(text: object) -> str:
    """Any text as LaTeX that prints it, on one line."""
    return _SPECIAL.sub(lambda found: _ESCAPED[found[0]], one_line(text))
