"""Tables whose decimals have minus signs."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from curation.numbers import decimal


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
