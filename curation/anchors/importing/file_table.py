"""What a file of anchors holds: its columns, its rows, and which column is likely the sentence."""

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
"""Names of the sentence column, the likeliest first; case does not matter."""

GENRE_NAMES = ("genre", "domain", "register", "category", "topic")

_LOOKED_AT = 1_000
"""Rows that the average length of a column is taken from."""

_NAMES_TOLD, _NAME_TOLD = 8, 40


class Format(StrEnum):
    """How rows are written in a file."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    TEXT = "text"


@dataclass(frozen=True, eq=False)
class FileTable:
    """The rows of a file, not yet looked at.

    Attributes:
        name: what to call the file in a message.
        columns: all columns, in the file's order.
        lines: the line that each row begins on, from 1; in Parquet the number of the row.
        content_hash: SHA-256 of the bytes.
        cells: column → its values, one a row, for the columns that hold nothing but strings (and
            gaps, which are None).
        refused: column → one sentence about why it holds no sentences, for the others.
        notes: what a person should know about how the file was read, one sentence each.
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
        """What ``lines`` counts."""
        return "row" if self.format is Format.PARQUET else "line"

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns that a sentence or a genre can be taken from."""
        return tuple(column for column in self.columns if column in self.cells)

    def texts(self, column: str) -> Sequence[str | None]:
        """The values of a column, one a row; None where a row has none.

        Raises:
            HedgerowError: there is no such column, or it holds something other than strings.
        """
        if column in self.cells:
            return self.cells[column]
        if column in self.refused:
            raise HedgerowError(self.refused[column])
        raise HedgerowError(
            f"Expected a column {quoted(column)} in {self.name}, found {listed(self.columns)}; "
            "name one of these."
        )

    def sentence_column(self) -> str:
        """The column that most likely holds the sentences: by its name, else the longest texts.

        A column with such a name that holds something other than strings is named all the same,
        so that ``texts`` says what is wrong with it and no other is taken silently.
        """
        return (
            _named(SENTENCE_NAMES, self.text_columns)
            or _named(SENTENCE_NAMES, self.columns)
            or max(self.text_columns, key=self._average_length)
        )

    def genre_column(self) -> str | None:
        """The column that most likely holds genres, by its name."""
        return _named(GENRE_NAMES, self.text_columns)

    def _average_length(self, column: str) -> float:
        values = self.cells[column][:_LOOKED_AT]
        return sum(len(value or "") for value in values) / len(values)


def _named(names: Iterable[str], columns: Sequence[str]) -> str | None:
    known = {column.casefold().strip(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def check_columns(names: Sequence[str], *, where: str) -> None:
    """Refuse a header in which a name stands twice, or that is far too wide.

    Raises:
        HedgerowError: as said; ``where`` is what the sentence calls the header.
    """
    if len(names) > MAX_COLUMNS:
        raise HedgerowError(
            f"Expected at most {MAX_COLUMNS} columns, found {len(names):,} in {where}; "
            "keep those that are needed."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise HedgerowError(
                f"Expected every column to have its own name, found {quoted(name)} twice in "
                f"{where}; rename one."
            )
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise HedgerowError(
                f"Expected names of columns in plain text, found half a surrogate pair in {where}; "
                "rename that column."
            )
        seen.add(name)


def check_rows(count: int, *, name: str) -> None:
    """Refuse more rows than one import takes.

    Raises:
        HedgerowError: there are more than ``MAX_ROWS``.
    """
    if count > MAX_ROWS:
        raise HedgerowError(
            f"Expected at most {MAX_ROWS:,} rows, found more in {name}; split it and add the "
            "parts one after another."
        )


def quoted(name: str) -> str:
    """A column's name in a message, shortened."""
    return f"'{name}'" if len(name) <= _NAME_TOLD else f"'{name[:_NAME_TOLD]}…'"


def listed(names: Sequence[str]) -> str:
    """The names of columns in a message, the first few of them."""
    told = ", ".join(quoted(name) for name in names[:_NAMES_TOLD])
    return told + (f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else "")
