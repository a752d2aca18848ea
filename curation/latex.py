"""Escapes untrusted text for LaTeX."""

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
    # After \\ and booktabs' rules, these characters at the start of a cell would begin an argument.
    "[": "{[}",
    "*": "{*}",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPED)))


def escaped(text: object) -> str:
    """Return LaTeX that prints the text on one line."""
    return _SPECIAL.sub(lambda found: _ESCAPED[found[0]], one_line(text))
