"""Importing a table of variants, with their anchors, types, cues and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.formatting import counted
from curation.importing.column_roles import ColumnRoles
from curation.importing.variant_preview import Preview
from curation.importing.variants import (
    IMPORT_VARIANTS,
    ImportVariants,
    Plan,
    VariantFile,
    plan,
)
from curation.tables.files import parts_of_path
from curation.tables.table import Table, open_table
from hedgerow.asked import readable
from hedgerow.home import Home, acting
from hedgerow.progress import progress_bar
from hedgerow.running import carry_out


@dataclass(frozen=True)
class VariantImport:
    """The result of importing variants, or the preview of a dry run.

    Attributes:
        plan: the contents of the file, and what is added.
        result: the result of the run, with its number as ``run``; empty if nothing was stored.
    """

    plan: Plan
    result: Mapping[str, Any]

    @property
    def table(self) -> Table:
        """The file: its name, its columns, and how it was read."""
        return self.plan.table

    @property
    def preview(self) -> Preview:
        """The variants and verdicts that are added, and the reasons why others are skipped."""
        return self.plan.preview

    @property
    def roles(self) -> ColumnRoles:
        """The role of each column."""
        return self.plan.staged.facts.roles

    @property
    def rows(self) -> int:
        """The number of rows in the file."""
        return self.plan.staged.facts.rows

    def __repr__(self) -> str:
        found = self.preview
        verb = "Added" if self.result else "Would add"
        return (
            f"<{verb} {counted(found.anchors, 'anchor')}, {counted(found.variants, 'variant')} and "
            f"{counted(found.decisions, 'verdict')} of {counted(self.rows, 'row')}>"
        )


def opened(file: Path) -> VariantFile:
    """The files in this place, and their rows."""
    with readable(file):
        parts = parts_of_path(file)
        return VariantFile(parts, open_table(parts, is_prose=False), file.stem)


def import_file(
    home: Home, request: ImportVariants, file: VariantFile, *, dry_run: bool
) -> VariantImport:
    """See `Variants.add` of `hedgerow.data.variants`."""
    with progress_bar() as report:
        project = acting(home, report)
        planned = plan(project, request, file)
    result: Mapping[str, Any] = {}
    if (planned.preview.variants or planned.preview.decisions) and not dry_run:
        result = carry_out(*home, IMPORT_VARIANTS.perform(project, planned).id)
    return VariantImport(planned, result)
