"""Importing a table of variants, with their anchors, types, cues and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.formatting import counted
from curation.importing.column_roles import ColumnRoles
from curation.importing.variant_preview import Preview
from curation.importing.variants import Plan, Request, add, plan, read
from curation.tables.files import Parts, parts_of_path
from curation.tables.table import Table, open_table
from curation.taxonomy.project_types import all_types
from db.engine import reading, writing
from hedgerow.asked import readable
from hedgerow.home import Home, asked_by
from hedgerow.progress import progress_bar
from hedgerow.running import carry_out


@dataclass(frozen=True)
class VariantImport:
    """The result of importing variants, or the preview of a dry run.

    Attributes:
        table: the file: its name, its columns, and how it was read.
        plan: the contents of the file, and what is added.
        result: the result of the run, with its number as ``run``; empty if nothing was stored.
    """

    table: Table
    plan: Plan
    result: Mapping[str, Any]

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


def opened(file: Path) -> tuple[Parts, Table]:
    """The files in this place, and their rows."""
    with readable(file):
        parts = parts_of_path(file)
        return parts, open_table(parts, is_prose=False)


def import_file(home: Home, request: Request, *, dry_run: bool) -> VariantImport:
    """See `Variants.add` of `hedgerow.data.variants`."""
    with reading(home.engine) as session:
        types = all_types(session)
    with progress_bar() as report:
        staged = read(request, types, report=report)
    with reading(home.engine) as session:  # other users can write in the meantime
        planned = plan(session, request, staged)
    result: Mapping[str, Any] = {}
    if (planned.preview.variants or planned.preview.decisions) and not dry_run:
        with writing(home.engine) as session:
            author = asked_by(session, home.settings)
            run = add(session, home.settings, planned, requested_by=author)
        result = carry_out(home.settings, home.engine, run.id)
    return VariantImport(request.table, planned, result)
