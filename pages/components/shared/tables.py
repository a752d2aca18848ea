"""Tables: for ``st.dataframe``, as HTML with each row as high as its texts, and as CSV files."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st
from markupsafe import Markup

from curation.formatting import decimal
from curation.tables.safe_csv import csv_bytes
from pages.components.shared.formatting import join
from pages.components.shared.links import permalink

COUNT = st.column_config.NumberColumn(format="localized")
"""A column of counts."""


def counts(columns: Iterable[str], **more: Any) -> dict[str, Any]:
    """The configuration of several columns of counts."""
    return dict.fromkeys(columns, st.column_config.NumberColumn(format="localized", **more))


def times() -> Any:
    """The configuration of a column of times, shown in the browser's time zone."""
    return st.column_config.DatetimeColumn(
        format="YYYY-MM-DD HH:mm", timezone=st.context.timezone or "UTC"
    )


# -- Numbers with minus signs and equally many decimal places -------------------------------------


def decimals(
    rows: Sequence[Mapping[str, Any]], digits: int = 3, *, signed: Collection[str] = ()
) -> Any:
    """The rows for `st.dataframe`; its own number formats can only write hyphens.

    Args:
        digits: decimal places of every column of floats.
        signed: columns in which positive numbers have a plus sign.
    """
    table = pd.DataFrame(rows)
    return table.style.format(
        {
            column: partial(decimal, digits=digits, sign=column in signed)
            for column in table.select_dtypes("float").columns
        },
        na_rep="–",
    )


def percentages(rows: Sequence[Mapping[str, Any]], *columns: str, digits: int = 1) -> Any:
    """The rows for `st.dataframe`; its own format for percentages varies the decimal places.

    Args:
        columns: columns of shares from 0 to 1, shown like '12.5%'.
        digits: decimal places of the percentages.
    """
    table = pd.DataFrame(rows)

    def percentage(share: float) -> str:
        return f"{decimal(100 * share, digits)}%"

    return table.style.format({name: percentage for name in columns if name in table}, na_rep="–")


# -- Tables of whole sentences, which `st.dataframe` would cut ------------------------------------


def sentences(
    heads: Sequence[str],
    rows: Iterable[Iterable[str | Markup]],
    *,
    label: str = "Variants",
    numbers: Collection[str] = (),
    narrow: bool = False,
) -> Markup:
    """The markup of a table. If it is longer than the window, it scrolls separately.

    Args:
        rows: the cells; strings are escaped.
        label: the name of the table for screen readers.
        numbers: heads of the columns to align on the right.
        narrow: the table is in a box, with less space for its third column.
    """
    styles = [Markup(' class="hg-number"') if head in numbers else Markup("") for head in heads]

    def line(cell: str, content: Iterable[str | Markup]) -> Markup:
        return join(Markup(cell).format(*of) for of in zip(styles, content, strict=True))

    body = (Markup("<tr>{}</tr>").format(line("<td{}>{}</td>", row)) for row in rows)
    return Markup(
        '<div class="hg-found{}" tabindex="0" role="region" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(
        " hg-of-anchor" if narrow else "",
        label,
        line('<th scope="col"{}>{}</th>', heads),
        join(body),
    )


def sentence(text: str) -> Markup:
    """A cell with an untrusted text."""
    return Markup('<span class="hg-text" dir="auto">{}</span>').format(text)


def link(address: str, title: str) -> Markup:
    """A cell with a link that opens in a new tab."""
    return Markup('<a href="{}" target="_blank" title="{}">Open</a>').format(address, title)


def card_link(uid: str) -> Markup:
    """A cell with a link to a variant's card."""
    return link(permalink(uid), "Opens the variant's card in Review in a new tab.")


# -- Tables as CSV files --------------------------------------------------------------------------


def csv_button(
    made: Callable[[], tuple[Sequence[str], Iterable[Sequence[Any]]]],
    name: str,
    *,
    key: str,
    label: str = "CSV",
    type: Literal["secondary", "tertiary"] = "tertiary",
    help: str | None = None,
    disabled: bool = False,
) -> None:
    """A button that downloads a table.

    Args:
        made: returns the header and the rows; called when the button is pressed.
        name: the name of the file without its ending. It must not contain user text.
    """
    st.download_button(
        label,
        lambda: csv_bytes(*made()),
        f"{name}.csv",
        "text/csv",
        key=key,
        type=type,
        icon=":material/download:",
        on_click="ignore",
        help=help,
        disabled=disabled,
    )
