"""Tables handed to Streamlit as Arrow's own."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def arrow(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The rows, which have the same keys, as a table for ``st.dataframe``.

    A list it would convert through pandas, whose import takes a fifth of the time until the first
    page is there. A column with nothing in it is taken for one of numbers.
    """
    columns: dict[str, Any] = {}
    for name in rows[0]:
        column = pa.array([row[name] for row in rows])
        columns[name] = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
    return pa.table(columns)
