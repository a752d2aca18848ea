"""Tables whose numbers have minus signs and equally many decimal places."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from curation.formatting import decimal


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
    shown = {name: partial(_percentage, digits=digits) for name in columns if name in table}
    return table.style.format(shown, na_rep="–")


def _percentage(share: float, digits: int) -> str:
    return f"{decimal(100 * share, digits)}%"
