"""CSV for spreadsheets: cells that they would read as formulas are neutralised, and restored."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A table as a CSV file for a spreadsheet, like `csv_lines` with a neutralised header."""
    return "".join(csv_lines([_cell(name) for name in header], rows)).encode()


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The header and each row in CSV for spreadsheets."""
    # Without a byte-order mark, spreadsheets mistake UTF-8 for an older encoding.
    yield "\N{BYTE ORDER MARK}"
    writer = csv.writer(_Given(), lineterminator="\n")
    yield writer.writerow(header)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


class _Given:
    """A file whose ``write`` returns its argument, so that ``writerow`` returns it too."""

    def write(self, text: str) -> str:
        return text


def original(cell: str) -> str:
    """The text that a cell was written for."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell


def _cell(value: Any) -> Any:
    """The value, written so that no spreadsheet reads it as a formula.

    The card says how to undo it.
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
