"""Escapes untrusted text for Markdown, and builds tables of escaped cells."""

import re
from collections.abc import Sequence


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
