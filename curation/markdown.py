"""Hostile text in Markdown: escaping, and tables of escaped cells."""

import re
from collections.abc import Sequence


def one_line(value: object) -> str:
    """``value`` with line breaks and unprintable characters turned into single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())


def escape(value: object) -> str:
    """``value`` on one line, so that Markdown and HTML show it as it is.

    Whatever could start markup, a link, a mention or a formula inside a line is escaped; text at
    the start of a line must follow some of ours, since it could begin a list there.
    """
    line = re.sub(r"[&<>|`\\$@]", lambda found: f"&#{ord(found[0])};", one_line(value))
    line = re.sub(r"[*\[\]~{}!=^]|(?<!&)#|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)
    # Bare addresses would become links.
    return line.replace("://", "&#58;//").replace("www.", "www&#46;")


def percent(share: float) -> str:
    """A share in [0, 1] as a percentage with one decimal."""
    return f"{100 * share:.1f}%"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table with a separator under its head; every cell is escaped, integers are grouped."""

    def line(cells: Sequence[object]) -> str:
        shown = (f"{cell:,}" if isinstance(cell, int) else escape(cell) for cell in cells)
        return f"| {' | '.join(shown)} |"

    return "\n".join([line(head), "|" + " --- |" * len(head), *map(line, rows)])
