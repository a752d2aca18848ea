"""Importing a table of variants, with their anchors, types, cues and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.anchors.importing.insert import MAX_SOURCE, About
from curation.plurals import counted
from curation.tables.files import parts_of_path
from curation.tables.table import Table, open_table
from curation.taxonomy.project_types import all_types
from curation.variants.importing.cells import parse_meanings
from curation.variants.importing.choices import Choices, undecided_by_role
from curation.variants.importing.import_run import create_import
from curation.variants.importing.preview import Preview, preview
from curation.variants.importing.roles import (
    ColumnRoles,
    check_roles,
    guess_roles,
    parse_roles,
    types_by_name,
    with_given,
)
from curation.variants.importing.staging import stage
from db.engine import reading, writing
from hedgerow.asked import readable
from hedgerow.home import Home, asked_by
from hedgerow.runs.progress import progress_bar
from hedgerow.runs.running import carry_out


@dataclass(frozen=True)
class VariantImport:
    """The result of importing variants, or the preview of a dry run.

    Attributes:
        table: the file: its name, its columns, and how it was read.
        roles: the role of each column.
        rows: the number of rows in the file.
        preview: the variants and verdicts that are added, and the reasons why others are skipped.
        result: the result of the run, with its number as ``run``; empty if nothing was stored.
    """

    table: Table
    roles: ColumnRoles
    rows: int
    preview: Preview
    result: Mapping[str, Any]

    def __repr__(self) -> str:
        found = self.preview
        verb = "Added" if self.result else "Would add"
        return (
            f"<{verb} {counted(found.anchors, 'anchor')}, {counted(found.variants, 'variant')} and "
            f"{counted(found.decisions, 'verdict')} of {counted(self.rows, 'row')}>"
        )


def import_variants(
    home: Home,
    file: Path,
    *,
    mapping: Sequence[str],
    undecided: Sequence[str],
    verdicts: Sequence[str],
    reviewer: str,
    accept: bool,
    source: str,
    licence: str | None,
    genre: str,
    language: str,
    dry_run: bool,
) -> VariantImport:
    """See `Variants.add` of `hedgerow.data.variants`.

    Args:
        mapping: roles as COLUMN=ROLE.
        verdicts: the meanings of words as WORD=accept, WORD=reject or WORD=none.
    """
    meanings = parse_meanings(verdicts)
    with readable(file):
        parts = parts_of_path(file)
        table = open_table(parts, is_prose=False)
    with reading(home.engine) as session:
        types = all_types(session)
    names = types_by_name(types.values())
    given = parse_roles(mapping, columns=table.columns, types=names, name=table.name)
    roles = with_given(guess_roles(table.columns, names), given)
    check_roles(roles, columns=table.columns, name=table.name)
    choices = Choices(
        about=About(source or file.stem[:MAX_SOURCE], licence, genre, language),
        undecided=undecided_by_role(undecided, types),
        accept=accept,
        reviewer=reviewer or home.settings.reviewer,
    )
    with progress_bar() as report:
        staged = stage(
            table,
            parts,
            roles=roles,
            types=types,
            meanings=meanings,
            language=language,
            report=report,
        )
    with reading(home.engine) as session:  # other users can write in the meantime
        found = preview(session, staged, choices)
    result: Mapping[str, Any] = {}
    if (found.variants or found.decisions) and not dry_run:
        with writing(home.engine) as session:
            author = asked_by(session, home.settings)
            run = create_import(session, home.settings, staged, choices, requested_by=author)
        result = carry_out(home.settings, home.engine, run.id)
    return VariantImport(table, roles, staged.facts.rows, found, result)
