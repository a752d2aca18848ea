"""The parts of a report, independent of LaTeX or Markdown."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

Cell: TypeAlias = str | int
"""Of a table. A number is aligned to the right, and its thousands are grouped."""


class Table(NamedTuple):
    """A table with a caption.

    Attributes:
        name: what its label ends with: ``tab:NAME``.
        wide: columns of running text, which share the width of the page: their titles.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    wide: Sequence[str] = ()


class Code(NamedTuple):
    """Lines that are printed as they are; each is ours, or escaped already."""

    text: str


Block: TypeAlias = str | Table | Code
"""A paragraph of plain text, or something that stands by itself."""


class Section(NamedTuple):
    """A heading and what is below it."""

    title: str
    blocks: Sequence[Block]


class Report(NamedTuple):
    """The data section about one release."""

    release: int
    content_hash: str
    sections: Sequence[Section]

    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
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
