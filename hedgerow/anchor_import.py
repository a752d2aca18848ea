"""Adding anchors from texts, tables and files."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.formatting import counted
from curation.importing.anchor_preview import FileRow, Preview, RowStatus
from curation.importing.anchor_storing import Added
from curation.importing.anchors import ADD_ANCHORS, AddAnchors, AnchorFile, Plan, plan
from curation.importing.labels import read_file, with_labels
from curation.importing.originals import Originals
from curation.tables.columns import FileTable
from curation.tables.files import parts_of_path
from curation.tables.table import Format, open_table
from db.errors import HedgerowError
from db.named_files import resolved
from hedgerow.arguments import readable
from hedgerow.home import Home, acting

if TYPE_CHECKING:
    import pandas as pd

Texts = Any
"""Sources of anchors: a list of sentences, a pandas DataFrame, a `datasets.Dataset`, or the path of
a file in any format that Hedgerow reads."""


@dataclass(frozen=True)
class AnchorImport:
    """The result of adding anchors, or the preview of a dry run.

    Attributes:
        plan: the table that was read, its columns, and what happens to every row.
        added: the number of anchors and other texts that were stored; 0 for a dry run.
        dry_run: whether this is only a preview.
    """

    plan: Plan
    added: Added
    dry_run: bool

    @property
    def rows(self) -> list[FileRow]:
        """The rows that are added."""
        return self.plan.rows

    @property
    def table(self) -> FileTable:
        """The table that was read."""
        return self.plan.table

    @property
    def preview(self) -> Preview:
        """Every row of the table, and whether it is added."""
        return self.plan.preview

    @property
    def originals(self) -> Originals:
        """The entailments and contradictions in the same rows."""
        return self.plan.originals

    @property
    def count(self) -> int:
        """The number of added anchors."""
        return self.added.added

    @cached_property
    def texts_alongside(self) -> Counter[str]:
        """Variant type → number of entailments or contradictions that are added."""
        return Counter(text.type_id for text in self.originals.paired_with(self.rows))

    def left_out(self) -> pd.DataFrame:
        """The rows that are not added: line, text, status, and why, one row each."""
        import pandas as pd

        taken = {row.line for row in self.rows}
        rows = [
            (row.line, row.text, row.status.value, " ".join(f.sentence for f in row.findings))
            for row in self.preview.rows
            if row.line not in taken
        ]
        return pd.DataFrame(rows, columns=["line", "text", "status", "why"])

    def __repr__(self) -> str:
        verb = "Would add" if self.dry_run else "Added"
        parts = (
            f"{verb} {counted(len(self.rows), 'anchor')} of {counted(len(self.table.lines), 'row')}"
        )
        statuses = self.preview.statuses
        others = [
            f"{statuses[status]:,} {status.value}"
            for status in RowStatus
            if status is not RowStatus.NEW
        ]
        return f"<{parts}; {', '.join(others)}>"


def add_file(home: Home, request: AddAnchors, file: AnchorFile, *, dry_run: bool) -> AnchorImport:
    """See `Anchors.add` of `hedgerow.anchors`."""
    project = acting(home)
    planned = plan(project, request, file)
    added = Added(0) if dry_run else ADD_ANCHORS.perform(project, planned)
    return AnchorImport(planned, added, dry_run)


def opened_table(
    texts: Texts, *, format: Format | None = None, labels: Mapping[str, str] | None = None
) -> AnchorFile:
    """The table of these texts, and the default name of their source."""
    if not isinstance(texts, str | Path):
        data, name = _json_lines(texts)
        return AnchorFile(read_file(data, name=name, meanings=labels), "python")
    path = Path(texts)
    if isinstance(texts, str) and not path.suffix and not path.exists():
        raise HedgerowError(
            f"Expected a file or a list of sentences, found the text {texts[:60]!r}; put a single "
            "sentence in a list."
        )
    with readable(path):
        table = with_labels(open_table(parts_of_path(path), format=format), labels)
        return AnchorFile(table, resolved(path).stem)


def _json_lines(texts: Texts) -> tuple[bytes, str]:
    """Texts in memory as JSON Lines, and their name for messages."""
    written = io.BytesIO()
    if hasattr(texts, "with_format") and hasattr(texts, "column_names"):
        if not isinstance(texts.column_names, list):
            raise HedgerowError(
                f"Expected one split of a data set, found {', '.join(texts.column_names)}; "
                "choose one split."
            )
        texts.to_json(written, force_ascii=False)
        return written.getvalue(), "the data set"
    if hasattr(texts, "to_json") and hasattr(texts, "columns"):
        texts.to_json(written, orient="records", lines=True, force_ascii=False)
        return written.getvalue(), "the data frame"
    if not isinstance(texts, Iterable):
        raise HedgerowError(
            f"Expected sentences, a data frame, a data set or a file, found {type(texts).__name__}."
        )
    lines = []
    for text in texts:
        if not isinstance(text, str):
            raise HedgerowError(f"Expected a list of strings, found {type(text).__name__} in it.")
        lines.append(json.dumps({"text": text}) + "\n")
    return "".join(lines).encode(), "the list"
