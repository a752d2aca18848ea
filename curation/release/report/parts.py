"""The parts of a report, independent of LaTeX or Markdown."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

Cell: TypeAlias = str | int
"""A table's cell. Numbers are right-aligned, with grouped thousands."""


class Table(NamedTuple):
    """A table with a caption.

    Attributes:
        name: the end of its label: ``tab:NAME``.
        wide: titles of columns with running text, which share the page's width.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    wide: Sequence[str] = ()


class Code(NamedTuple):
    """Lines that are printed verbatim. Each is our own text or already escaped."""

    text: str


Block: TypeAlias = str | Table | Code
"""A paragraph of plain text, a table or code."""


class Section(NamedTuple):
    """A heading and its contents."""

    title: str
    blocks: Sequence[Block]


class Report(NamedTuple):
    """The data section about one release."""

    release: int
    content_hash: str
    sections: Sequence[Section]

    def facts(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "release": self.release,
            "hash": self.content_hash,
            "sections": [
                {
                    "title": section.title,
                    "text": [block for block in section.blocks if isinstance(block, str)],
                    "tables": [
                        {
                            "name": block.name,
                            "caption": block.caption,
                            "columns": list(block.columns),
                            "rows": [list(row) for row in block.rows],
                        }
                        for block in section.blocks
                        if isinstance(block, Table)
                    ],
                }
                for section in self.sections
            ],
        }
