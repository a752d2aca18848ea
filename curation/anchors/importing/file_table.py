"""The table of a file of anchors: its columns, its rows, and the likely sentence column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from db.errors import HedgerowError

MAX_COLUMNS = 500
MAX_ROWS = 500_000

SENTENCE_NAMES = (
    "text",
    "sentence",
    "anchor",
    "premise",
    "sentence1",
    "sent",
    "claim",
    "caption",
    "utterance",
    "statement",
    "content",
    "sentences",
    "anchors",
)
"""Names of the sentence column, the likeliest first; case is ignored."""

GENRE_NAMES = ("genre", "domain", "register", "category", "topic")

_INSPECTED = 1_000
"""Number of rows from which the average length of a column is computed."""

_NAMES_SHOWN, _NAME_SHOWN = 8, 40


class Format(StrEnum):
    """File formats."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    TEXT = "text"


@dataclass(frozen=True, eq=False)
class FileTable:
    """The unchecked rows of a file.

    Attributes:
        name: name of the file in messages.
        columns: all columns, in the file's order.
        lines: the line on which each row begins, from 1; the row number in Parquet.
        content_hash: SHA-256 of the bytes.
        cells: column → its values, one per row, for columns that contain only strings and missing
            values (None).
        refused: column → one sentence on why it has no sentences, for the other columns.
        notes: what users should know about how the file was read, one sentence each.
    """

    name: str
    format: Format
    columns: tuple[str, ...]
    lines: Sequence[int]
    cells: Mapping[str, Sequence[str | None]]
    content_hash: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """The unit of ``lines``."""
        return "row" if self.format is Format.PARQUET else "line"

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that can contain sentences or genres."""
        return tuple(column for column in self.columns if column in self.cells)

    def texts(self, column: str) -> Sequence[str | None]:
        """The values of a column, one per row; None if missing.

        Raises:
            HedgerowError: there is no such column, or it contains values other than strings.
        """
        if column in self.cells:
            return self.cells[column]
        if column in self.refused:
            raise HedgerowError(self.refused[column])
        raise HedgerowError(
            f"Expected a column {quoted(column)} in {self.name}, found {listed(self.columns)}; "
            "choose one of these."
        )

    def sentence_column(self) -> str:
        """The likely sentence column: by its name, else the one with the longest texts.

        A column with such a name is returned even if it contains other values than strings, so that
        ``texts`` reports the problem and no other column is used silently.
        """
        return (
            _named(SENTENCE_NAMES, self.text_columns)
            or _named(SENTENCE_NAMES, self.columns)
            or max(self.text_columns, key=self._average_length)
        )

    def genre_column(self) -> str | None:
        """The likely genre column, by its name."""
        return _named(GENRE_NAMES, self.text_columns)

    def _average_length(self, column: str) -> float:
        values = self.cells[column][:_INSPECTED]
        return sum(len(value or "") for value in values) / len(values)


def _named(names: Iterable[str], columns: Sequence[str]) -> str | None:
    known = {column.casefold().strip(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def check_columns(names: Sequence[str], *, where: str) -> None:
    """Refuse a header with a repeated name or too many columns.

    Raises:
        HedgerowError: as above; ``where`` is the name of the header in the message.
    """
    if len(names) > MAX_COLUMNS:
        raise HedgerowError(
            f"Expected at most {MAX_COLUMNS} columns, found {len(names):,} in {where}; remove "
            "columns that you do not need."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise HedgerowError(
                f"Expected a different name for every column, found {quoted(name)} twice in "
                f"{where}; rename one."
            )
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise HedgerowError(
                f"Expected column names in plain text, found half a surrogate pair in {where}; "
                "rename that column."
            )
        seen.add(name)


def check_rows(count: int, *, name: str) -> None:
    """Refuse more rows than an import can have.

    Raises:
        HedgerowError: there are more than ``MAX_ROWS``.
    """
    if count > MAX_ROWS:
        raise HedgerowError(
            f"Expected at most {MAX_ROWS:,} rows, found more in {name}; split it and add the "
            "parts one after another."
        )


def quoted(name: str) -> str:
    """The shortened name of a column, for messages."""
    return f"'{name}'" if len(name) <= _NAME_SHOWN else f"'{name[:_NAME_SHOWN]}…'"


def listed(names: Sequence[str]) -> str:
    """The first few column names, for messages."""
    first = ", ".join(quoted(name) for name in names[:_NAMES_SHOWN])
    return first + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")
