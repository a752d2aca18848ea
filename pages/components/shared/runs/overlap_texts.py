"""The texts that a release shares with benchmarks, each row as high as its texts.

This is HTML because all rows of an ``st.dataframe`` have the same height: it would cut long texts
in the middle of a line.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from pages.components.shared.formatting.diff import join

HEADS = {
    "Card": "Card",
    "Its text": "Benchmark text",
    "In the release": "Release text",
    "Shared": "Shared words",
    "Item": "Item",
    "Benchmark": "Benchmark",
}
"""Name of a column in the file → its head in the table."""

_CARD = "Opens the variant in Review in a new tab. For an anchor, it opens one of its variants."


def table(rows: Sequence[Mapping[str, Any]], *, with_benchmark: bool) -> Markup:
    """The rows in order; a table longer than the window scrolls separately.

    Args:
        rows: with the keys of `HEADS`.
        with_benchmark: whether to draw the last column.
    """
    names = list(HEADS) if with_benchmark else list(HEADS)[:-1]
    heads = (Markup('<th scope="col">{}</th>').format(HEADS[name]) for name in names)
    return Markup(
        '<div class="hg-found" tabindex="0" role="region" aria-label="Overlapping texts">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(join(heads), join(_row(row, names) for row in rows))


def _row(row: Mapping[str, Any], names: Sequence[str]) -> Markup:
    cells: dict[str, str | Markup] = {
        "Card": _card(row["Card"]),
        "Its text": _text(row["Its text"]),
        "In the release": _text(row["In the release"]),
        "Shared": _text(row["Shared"]),
        "Item": f"{row['Item']:,}",
        "Benchmark": row["Benchmark"],
    }
    return Markup("<tr>{}</tr>").format(
        join(Markup("<td>{}</td>").format(cells[name]) for name in names)
    )


def _card(address: str | None) -> str | Markup:
    if address is None:
        return "–"
    return Markup('<a href="{}" target="_blank" title="{}">Open</a>').format(address, _CARD)


def _text(text: str) -> Markup:
    return Markup('<span dir="auto">{}</span>').format(text)
