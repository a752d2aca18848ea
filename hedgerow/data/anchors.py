"""Adding, listing, correcting and retiring anchors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from curation.anchors.lookup import AnchorFilter, find_anchors, source_named
from curation.importing.anchors import AddAnchors
from curation.importing.labels import parse_meanings
from curation.tables.table import Format
from db.engine import reading
from hedgerow import asked
from hedgerow.asked import split_of
from hedgerow.data import anchor_changes
from hedgerow.data.anchor_changes import Changed, Corrected
from hedgerow.data.anchor_import import AnchorImport, Texts, add_file, opened_table
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

ALL = 2**31 - 1
"""A limit that no project reaches."""


class Anchors:
    """The anchors of a project. Call it to list them."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def __call__(
        self,
        *,
        search: str = "",
        source: str = "",
        genre: str = "",
        split: str | None = None,
        retired: bool = False,
        without_variants: bool = False,
    ) -> pd.DataFrame:
        """List anchors in the order in which they were added.

        Args:
            search: part of the text, or a uid.
            source, genre: only anchors from this source or of this genre.
            split: 'train', 'validation' or 'test'; by default all splits.
            retired: list the retired anchors instead of those in use.
            without_variants: only anchors without variants.

        Returns:
            One row per anchor: uid, text, source, genre, language, split, the ids of its document
            and row in its source, number of variants.

        Raises:
            HedgerowError: the source or split is unknown.

        >>> project = example_project()
        >>> list(project.anchors(search="bridge")["text"])
        ['The bridge is safe.']
        """
        import pandas as pd

        wanted = AnchorFilter(
            text=search,
            source=source,
            genre=genre,
            split=split_of(split),
            retired=retired,
            without_variants=without_variants,
        )
        with reading(self._home.engine) as session:
            if source:
                source_named(session, source)
            found = find_anchors(session, wanted, limit=ALL, offset=0).anchors
        rows = [
            (
                *(a.uid, a.text, a.source, a.genre, a.language, a.split.value),
                *(a.document_id, a.row_id, a.variants),
            )
            for a in found
        ]
        columns = ["uid", "text", "source", "genre", "language", "split"]
        columns += ["document_id", "row_id", "variants"]
        return pd.DataFrame(rows, columns=columns)

    def add(
        self,
        texts: Texts,
        *,
        source: str = "",
        licence: str | None = None,
        genre: str = "",
        language: str = "en",
        column: str | None = None,
        genre_column: str | None = None,
        language_column: str | None = None,
        split_column: str | None = None,
        document_column: str | None = None,
        row_id_column: str | None = None,
        entailment: str | None = None,
        contradiction: str | None = None,
        labels: Sequence[str] = (),
        accept_originals: bool = False,
        include_suspicious: bool | Collection[int] = False,
        sample: int | None = None,
        seed: int = 0,
        format: str | None = None,
        dry_run: bool = False,
    ) -> AnchorImport:
        """Add sentences as anchors, all or none. Duplicates are skipped.

        Args:
            texts: a list of sentences, a DataFrame, a `datasets.Dataset`, or the path of a file.
            source: the name of the source; by default the file's name, or 'python'.
            licence: the licence of the source, such as 'CC BY 4.0'.
            genre, language: defaults for rows without their own; the language is a tag such as
                'de-CH'.
            column: the column with the sentences; by default its name must show it.
            genre_column, language_column, split_column, document_column, row_id_column: the columns
                with the genres, languages and splits, and with the ids of documents and rows; by
                default they are found by their names, and '' means none. All sentences of a
                document are in one split.
            entailment, contradiction: the columns with the entailments and contradictions of an NLI
                data set; by default they are guessed, and '' means none.
            labels: the meanings of labels that Hedgerow does not know, such as '2=contradiction'.
            accept_originals: accept the entailments and contradictions as labelled in the data set.
            include_suspicious: also add sentences that look negated, hedged or incomplete; or the
                lines of those to add.
            sample: add only a random sample of this size, with the same distribution of lengths and
                genres.
            seed: the seed of the sample.
            format: the file format: 'csv', 'tsv', 'jsonl', 'parquet' or 'text'; by default it is
                guessed.
            dry_run: only preview the import.

        Returns:
            The result of the import, or its preview.

        Raises:
            HedgerowError: the texts are not a table or list of sentences, a column is missing, or
                the source already has another licence.

        >>> project = example_project()
        >>> project.anchors.add(["The lamp is bright.", "The bridge is safe."]).count
        1
        """
        file = opened_table(
            texts, format=Format(format) if format else None, labels=parse_meanings(labels)
        )
        request = asked.request(AddAnchors, locals())
        return add_file(self._home, request, file, dry_run=dry_run)

    def correct(
        self,
        uid: str,
        text: str,
        *,
        carry_over: bool = False,
        force: bool = False,
        reviewer: str = "",
    ) -> Corrected:
        """Correct the text of an anchor. Its decided variants become pending again.

        Args:
            uid: the uid of the anchor.
            text: the corrected text.
            carry_over: make the same change to the accepted variants, as your edits, so that they
                stay accepted. One undo reverts these edits.
            force: allow a suspicious text, such as a negated sentence.
            reviewer: your name; by default the name that the project was opened with.

        Returns:
            The number of variants that are pending again, and the new texts of accepted variants.

        Raises:
            HedgerowError: no anchor has this uid, another anchor has the same text, the text does
                not change, or it is suspicious. Nothing is changed in these cases.

        >>> project = example_project()
        >>> uid = project.anchors()["uid"].iloc[0]
        >>> done = project.anchors.correct(uid, "The footbridge is safe.", carry_over=True)
        >>> [carried.text for carried in done.carried]
        ['The footbridge is unsafe.', 'The footbridge is probably safe.']
        """
        return anchor_changes.correct(
            self._home, uid, text, reviewer=reviewer, carry=carry_over, force=force
        )

    def set(self, *uids: str, genre: str | None = None, language: str | None = None) -> Changed:
        """Change the genre or language of anchors, all of them or none.

        Args:
            uids: the uids of the anchors.
            genre: the new genre; '' removes the genre.
            language: the new language, a tag such as 'en' or 'de-CH'.

        Returns:
            The anchors that changed, and those that already had these values.

        Raises:
            HedgerowError: no anchor has one of these uids, neither a genre nor a language is given,
                or the language is not a valid tag.

        >>> project = example_project()
        >>> changed = project.anchors.set(project.anchors()["uid"].iloc[0], genre="traffic")
        >>> list(project.anchors()["genre"])
        ['traffic']
        """
        return anchor_changes.set_facts(self._home, uids, genre=genre, language=language)

    def retire(self, *uids: str) -> Changed:
        """Retire anchors and their variants. Decisions and earlier releases stay.

        Returns:
            The anchors that this call retired, and those that were already retired.

        Raises:
            HedgerowError: no anchor has one of these uids. No anchor is retired in this case.

        >>> project = example_project()
        >>> retired = project.anchors.retire(*project.anchors()["uid"])
        >>> len(retired.changed), len(project.variants())
        (1, 0)
        """
        return anchor_changes.set_retired(self._home, uids, retired=True)

    def restore(self, *uids: str) -> Changed:
        """Restore retired anchors and their variants as they were.

        Returns:
            The anchors that this call restored, and those that were already in use.

        Raises:
            HedgerowError: no anchor has one of these uids. No anchor is restored in this case.

        >>> project = example_project()
        >>> uid = project.anchors()["uid"].iloc[0]
        >>> retired = project.anchors.retire(uid)
        >>> restored = project.anchors.restore(uid)
        >>> len(project.variants())
        3
        """
        return anchor_changes.set_retired(self._home, uids, retired=False)

    def __repr__(self) -> str:
        return "<Anchors: call it to list them, .add() adds some>"
