"""Listing variants with their diagnostics, and importing variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.anchors.revisions import source_in_use
from curation.diagnostics.distributions import STATUSES, Scope
from curation.diagnostics.variant_table import VariantRow, variant_rows
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
from curation.review.deciding import find_variant
from curation.similar import similar_variants
from curation.tables.files import parts_of_path
from curation.tables.table import Table, open_table
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from db.engine import reading
from db.errors import HedgerowError
from db.models import Status
from hedgerow import arguments
from hedgerow.arguments import names, readable
from hedgerow.arguments import uid as one_uid
from hedgerow.home import Home, acting
from hedgerow.progress import progress_bar

if TYPE_CHECKING:
    import pandas as pd


class Variants:
    """The variants of a project. Call it to list them."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def __call__(
        self,
        *,
        type: str | tuple[str, ...] = (),
        status: str | None = None,
        source: str = "",
        search: str = "",
        anchor: str = "",
    ) -> pd.DataFrame:
        """List variants with their diagnostics, except superseded and retired variants.

        Args:
            type: one or more variant types, such as 'verbal'; by default all types.
            status: 'pending', 'accepted', 'rejected' or 'conflict'; by default all of them.
            source: only variants of anchors from this source.
            search: a phrase in the text, or a uid.
            anchor: the uid of an anchor, to list only its variants.

        Returns:
            One row per variant, in the order in which they were added. `levenshtein` is in
            characters, `cosine` in [-1, 1], `content_kept` in [0, 1]; they are missing until
            `hedgerow.Project.diagnose` has measured them.

        Raises:
            HedgerowError: the type, status or source is unknown.

        >>> project = example_project()
        >>> found = project.variants(type="verbal", status="pending")
        >>> list(found["text"])
        ['The bridge is not safe.']
        """
        import pandas as pd

        with reading(self._home.engine) as session:
            types = names(type, what="types")
            for name in types:
                known_type(list(all_types(session).values()), name)
            scope = Scope(
                types=types,
                status=_status(status) if status else None,
                source_id=source_in_use(session, source) if source else None,
            )
            rows = list(variant_rows(session, scope, search=search, anchor=anchor))
        return pd.DataFrame(rows, columns=list(VariantRow._fields))

    def add(
        self,
        file: str | Path,
        *,
        mapping: Mapping[str, str] | None = None,
        undecided: Sequence[str] = (),
        verdicts: Mapping[str, str] | None = None,
        reviewer: str = "",
        accept: bool = False,
        source: str = "",
        licence: str | None = None,
        genre: str = "",
        language: str = "en",
        dry_run: bool = False,
    ) -> VariantImport:
        """Import variants with their anchors. Existing anchors and variants are skipped.

        Args:
            file: a CSV, TSV, JSON, JSON Lines or Parquet file, or the folder or zip file of an
                export.
            mapping: column → its role: 'anchor', 'text', 'type', 'cue', 'verdict', 'hedge',
                'negation', 'ignore' and so on, or a variant type. You only need it for columns
                whose names do not show their role.
            undecided: the types of hedges and negations whose texts do not show their type; by
                default these are skipped.
            verdicts: a word in the file → the verdict that it stands for: 'accept', 'reject' or
                'none'.
            reviewer: the reviewer of verdicts for which the file names no reviewer.
            accept: accept variants without a verdict.
            source, licence, genre, language: defaults for anchors without their own in the file.
            dry_run: only preview the import.

        Returns:
            The result of the import, or its preview.

        Raises:
            HedgerowError: the roles of the columns are unclear, a verdict has no reviewer, or the
                source already has another licence. Nothing is changed in these cases.

        >>> exported = example_project().release("first").export("exported", format="jsonl")
        >>> project = hedgerow.open("elsewhere", reviewer="me")
        >>> project.variants.add(exported)
        <Added 1 anchor, 2 variants and 2 verdicts of 2 rows>
        """
        from hedgerow.variants import import_file, opened

        fields = locals() | {"mapping": mapping or {}, "verdicts": verdicts or {}}
        request = arguments.request(ImportVariants, fields)
        return import_file(self._home, request, opened(Path(file)), dry_run=dry_run)

    def __repr__(self) -> str:
        return "<Variants: call it to list them, .add() imports some>"


def _status(name: str) -> Status:
    found = next((status for status in STATUSES if status.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected a status ({', '.join(STATUSES)}), found {name!r}.")
    return found


# -- Importing -------------------------------------------------------------------------------------


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
    """See `Variants.add` of `hedgerow.variants`."""
    from hedgerow.running import carry_out  # it loads what runs need, and Project loads this file

    with progress_bar() as report:
        project = acting(home, report)
        planned = plan(project, request, file)
    result: Mapping[str, Any] = {}
    if (planned.preview.variants or planned.preview.decisions) and not dry_run:
        result = carry_out(*home, IMPORT_VARIANTS.perform(project, planned).id)
    return VariantImport(planned, result)


_COLUMNS = ("uid", "cosine", "type", "status", "text")


def similar(home: Home, uid: str, limit: int) -> pd.DataFrame:
    """See `hedgerow.Project.similar_variants`."""
    import pandas as pd

    from curation.similar import KIND as EMBED
    from hedgerow.running import carry_out_one

    with reading(home.engine) as session:
        variant = find_variant(session, one_uid(uid))
        found = similar_variants(session, home.settings, variant, limit=limit)
    if found.missing:
        carry_out_one(home.settings, home.engine, EMBED, {})
        with reading(home.engine) as session:
            found = similar_variants(session, home.settings, variant, limit=limit)
    rows = [
        (one.hit.variant_uid, one.cosine, one.hit.type_id, one.hit.status, one.hit.text)
        for one in found.found or ()
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS))
