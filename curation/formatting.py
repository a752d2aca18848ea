"""Numbers for people, and untrusted text escaped for Markdown and LaTeX."""

import re
from collections.abc import Sequence


def counted(count: int, name: str) -> str:
    """Return '1 anchor', '1,369 anchors'; for nouns with a plural in -s."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def decimal(value: float, digits: int, *, sign: bool = False) -> str:
    """Return '0.51' or '−0.51', with a minus sign (U+2212) instead of a hyphen, and never '−0.00'.

    Args:
        digits: number of decimal places.
        sign: whether to write '+0.51'.
    """
    return f"{value:{'+' if sign else ''}z.{digits}f}".replace("-", "−")


def one_line(value: object) -> str:
    """Replace line breaks and unprintable characters in ``value`` with single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def escape(value: object) -> str:
    """Return ``value`` on one line, escaped so that Markdown and HTML show it unchanged.

    Anything that could start markup, a link, a mention or a formula inside a line is escaped. The
    result must not begin a line, since it could begin a list there.
    """
    line = re.sub(r"[&<>|`\\$@]", lambda found: f"&#{ord(found[0])};", one_line(value))
    line = re.sub(r"[*\[\]~{}!=^]|(?<!&)#|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)
    # Bare URLs would become links.
    return line.replace("://", "&#58;//").replace("www.", "www&#46;")


def percent(share: float) -> str:
    """Format a share in [0, 1] as a percentage with one decimal."""
    return f"{100 * share:.1f}%"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with a header row. Every cell is escaped, and integers are grouped."""

    def line(cells: Sequence[object]) -> str:
        shown = (f"{cell:,}" if isinstance(cell, int) else escape(cell) for cell in cells)
        return f"| {' | '.join(shown)} |"

    return "\n".join([line(head), "|" + " --- |" * len(head), *map(line, rows)])


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


def duration(seconds: float) -> str:
    """A duration in words, rounded because it is an estimate."""
    minutes = seconds / 60
    if minutes < 0.75:
        return "less than a minute"
    if minutes < 90:
        return f"about {max(1, round(minutes))} min"
    return f"about {minutes / 60:.1f} hours"


LETTERS_PER_TOKEN = 4.0
"""Approximate number for English, according to the providers' own rule of thumb."""


def tokens(letters: float) -> int:
    """Return the approximate number of tokens in a text of this length."""
    return round(letters / LETTERS_PER_TOKEN)
