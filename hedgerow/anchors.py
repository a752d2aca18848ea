"""Adding, listing, correcting and retiring anchors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.lookup import AnchorFilter, find_anchors, source_named
from curation.editing.anchors import (
    SuspiciousText,
    carry_over,
    correct_anchor,
    get_anchor,
    proposals,
    restore_anchors,
    retire_anchors,
)
from curation.editing.attributes import set_facts as set_attributes
from curation.importing.anchors import AddAnchors
from curation.importing.labels import parse_meanings
from curation.tables.table import Format
from db import LARGEST_NUMBER
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status
from hedgerow import arguments
from hedgerow.anchor_import import AnchorImport, Texts, add_file, opened_table
from hedgerow.arguments import split_of
from hedgerow.arguments import uid as one_uid
from hedgerow.arguments import uids as all_uids
from hedgerow.home import Home, reviewer_id

if TYPE_CHECKING:
    import pandas as pd


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
            found = find_anchors(session, wanted, limit=LARGEST_NUMBER, offset=0).anchors
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
        """Add sentences as anchors: up to 1,000 all or none, more in pieces.

        Duplicates are skipped.

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
        request = arguments.request(AddAnchors, locals())
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
        return correct(self._home, uid, text, reviewer=reviewer, carry=carry_over, force=force)

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
        return set_facts(self._home, uids, genre=genre, language=language)

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
        return set_retired(self._home, uids, retired=True)

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
        return set_retired(self._home, uids, retired=False)

    def __repr__(self) -> str:
        return "<Anchors: call it to list them, .add() adds some>"


# -- Correcting, describing, retiring and restoring ------------------------------------------------


class Changed(NamedTuple):
    """The uids of the anchors that a change affected.

    Attributes:
        changed: the anchors that changed.
        unchanged: the anchors that already had the requested values or state.
    """

    changed: list[str]
    unchanged: list[str]


class NewText(NamedTuple):
    """An accepted variant, and its text after the correction of its anchor."""

    uid: str
    text: str


class Corrected(NamedTuple):
    """The result of a correction.

    Attributes:
        uid: the anchor's uid, which stays the same.
        revision: the number of the new revision.
        second_looks: the number of decided variants that are pending again.
        carried: the accepted variants to which the same change was made.
        left: the accepted variants to which the same change could be made; without
            ``carry_over``, they are pending again.
    """

    uid: str
    revision: int
    second_looks: int
    carried: list[NewText]
    left: list[NewText]


def correct(
    home: Home,
    uid: str,
    text: str,
    *,
    reviewer: str,
    carry: bool,
    force: bool,
    forced_by: str = "force=True",
) -> Corrected:
    """See `Anchors.correct` of `hedgerow.anchors`.

    Args:
        forced_by: the name of the argument ``force`` in messages.
    """
    with writing(home.engine) as session:
        anchor = get_anchor(session, one_uid(uid))
        who = reviewer_id(session, home.settings, reviewer)
        try:
            done = correct_anchor(
                session,
                anchor.id,
                text,
                expected_revision=anchor.revision,
                reviewer_id=who,
                insist=force,
            )
        except SuspiciousText as suspicious:
            raise HedgerowError(
                f"Nothing was changed. {suspicious} Rephrase the text, or confirm it with "
                f"{forced_by}."
            ) from None
        found = [p for p in proposals(session, anchor.id) if p.was is Status.ACCEPTED]
        texts = [NewText(proposal.uid, proposal.new_text) for proposal in found]
        if not carry:
            return Corrected(uid, done.revision, done.second_looks, [], texts)
        chosen = {proposal.variant_id: proposal.new_text for proposal in found}
        carry_over(session, anchor.id, chosen, reviewer_id=who)
        return Corrected(uid, done.revision, done.second_looks - len(found), texts, [])


def set_facts(
    home: Home, uids: Iterable[str], *, genre: str | None, language: str | None
) -> Changed:
    """See `Anchors.set` of `hedgerow.anchors`."""
    with writing(home.engine) as session:
        ids = _ids_of(session, uids)
        return _changed(ids, set_attributes(session, ids.values(), genre=genre, language=language))


def set_retired(home: Home, uids: Iterable[str], *, retired: bool) -> Changed:
    """See `Anchors.retire` and `Anchors.restore` of `hedgerow.anchors`."""
    with reading(home.engine) as session:
        ids = _ids_of(session, uids)
    change = retire_anchors if retired else restore_anchors
    return _changed(ids, change(home.engine, ids.values()))


def _ids_of(session: Session, uids: Iterable[str]) -> dict[str, int]:
    return {uid: get_anchor(session, uid).id for uid in all_uids(uids)}


def _changed(ids: dict[str, int], changed: Collection[int]) -> Changed:
    found = set(changed)
    return Changed(
        [uid for uid, anchor_id in ids.items() if anchor_id in found],
        [uid for uid, anchor_id in ids.items() if anchor_id not in found],
    )
