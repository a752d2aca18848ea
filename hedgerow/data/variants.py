"""Listing variants with their diagnostics, and importing variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curation.anchors.revisions import source_in_use
from curation.diagnostics.distributions import STATUSES, Scope
from curation.diagnostics.variant_table import VariantRow, variant_rows
from curation.importing.variants import ImportVariants
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from db.engine import reading
from db.errors import HedgerowError
from db.models import Status
from hedgerow import asked
from hedgerow.asked import names
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

    from hedgerow.data.variant_import import VariantImport


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
        from hedgerow.data.variant_import import import_file, opened

        fields = locals() | {"mapping": mapping or {}, "verdicts": verdicts or {}}
        request = asked.request(ImportVariants, fields)
        return import_file(self._home, request, opened(Path(file)), dry_run=dry_run)

    def __repr__(self) -> str:
        return "<Variants: call it to list them, .add() imports some>"


def _status(name: str) -> Status:
    found = next((status for status in STATUSES if status.value == name), None)
    if found is None:
        raise HedgerowError(f"Expected a status ({', '.join(STATUSES)}), found {name!r}.")
    return found
