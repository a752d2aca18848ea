"""The entailments and contradictions that a file pairs with its anchors, and their problems.

Data sets for natural language inference pair a premise with sentences that follow from it or
contradict it. This module stores nothing (see ``curation.importing.anchor_storing``).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.checks import Reason, no_sentence
from curation.anchors.revisions import of_current_revision
from curation.content_uids import canonical, variant_uid, words_of
from curation.decisions.storing import chunks
from curation.decisions.variant_rows import ids_by_uid
from curation.editing.own_types import CONTRADICTION, ENTAILMENT, check_types
from curation.editing.variants import MAX_TEXT
from curation.importing.anchor_preview import FileRow, Preview, RowStatus
from curation.importing.labels import LabelledTable
from curation.language.english import is_english
from curation.tables.columns import FileTable
from curation.tables.delimited import quoted
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision, Source, Variant

_NAMES = {
    ENTAILMENT: ("entailment", "entailed", "entailment_hypothesis", "entailed_hypothesis"),
    CONTRADICTION: (
        "contradiction",
        "contradicted",
        "contradiction_hypothesis",
        "contradicted_hypothesis",
    ),
}
_BESIDE_ENTAILMENTS = "negative"
"""Jina AI's column name for contradictions; ambiguous on its own."""


LOOKED_UP_TOGETHER = 5_000
"""Uids per query, for which PostgreSQL reads a large table as a whole."""


class Fault(StrEnum):
    """Why a text does not become a variant. Empty cells are not counted."""

    NEUTRAL = "neutral"
    NO_ANCHOR = "no_anchor"
    THERE = "there"
    SAME = "same"
    NO_SENTENCE = "no_sentence"
    NOT_TEXT = "not_text"
    OTHER_SOURCE = "other_source"


FAULTS = {
    Fault.NEUTRAL: "with another label or none",
    Fault.NO_ANCHOR: "whose anchor is not added",
    Fault.THERE: "that already exist",
    Fault.SAME: "equal to their anchor",
    Fault.NO_SENTENCE: "that are not a sentence",
    Fault.NOT_TEXT: f"with control characters or longer than {MAX_TEXT:,} characters",
    Fault.OTHER_SOURCE: "whose anchor belongs to another source",
}
"""The label of each problem in counts."""


class Original(NamedTuple):
    """A text that the file pairs with an anchor.

    Attributes:
        anchor: uid of the anchor text in the file.
        text: canonical.
    """

    anchor: str
    type_id: str
    text: str


@dataclass(frozen=True, eq=False)
class Originals:
    """The texts that a file pairs with its anchors.

    Attributes:
        columns: type id → the column of its texts.
        source: name of the source under which they were read.
        texts: distinct texts that can be added.
        known: uids of the texts that are already anchors of this source.
        left_out: number of texts with each problem, whichever rows are added.
    """

    columns: Mapping[str, str]
    source: str
    texts: Sequence[Original]
    known: Collection[str]
    left_out: Mapping[Fault, int]

    def paired_with(self, rows: Sequence[FileRow]) -> list[Original]:
        """The texts paired with the anchors in these rows, or with existing anchors."""
        wanted = {row.uid for row in rows}.union(self.known)
        return [original for original in self.texts if original.anchor in wanted]

    def left_out_beside(self, rows: Sequence[FileRow]) -> dict[Fault, int]:
        """How many texts with each problem are left out if these rows are added."""
        counts = Counter(self.left_out)
        counts[Fault.NO_ANCHOR] += len(self.texts) - len(self.paired_with(rows))
        return {fault: counts[fault] for fault in Fault if counts[fault]}


class KnownAnchor(NamedTuple):
    """An anchor in use at its current revision, with the id and name of its source."""

    id: int
    uid: str
    revision: int
    source_id: int
    source: str


def guess_columns(table: FileTable, sentence: str) -> dict[str, str]:
    """Type id → the column whose name says that it has texts of this type.

    Args:
        sentence: the column with the anchors, which is excluded.
    """
    names = {
        column.casefold().strip(): column for column in table.text_columns if column != sentence
    }
    found = {
        type_id: next((names[name] for name in likely if name in names), "")
        for type_id, likely in _NAMES.items()
    }
    if found[ENTAILMENT] and not found[CONTRADICTION]:
        found[CONTRADICTION] = names.get(_BESIDE_ENTAILMENTS, "")
    return {type_id: column for type_id, column in found.items() if column}


def read_originals(
    session: Session,
    table: LabelledTable,
    shown: Preview,
    *,
    sentence: str,
    columns: Mapping[str, str],
    source: str,
    language: str = "en",
) -> Originals:
    """Check every text paired with an existing or future anchor.

    Args:
        shown: the preview of the same table.
        sentence: the column with the anchors.
        columns: type id → column, for the types of ``original_types``.
        source: name under which the anchors will be added. Anchors of other sources are skipped,
            because a release would give the texts the licence of that source.
        language: language of the sentences.

    Raises:
        HedgerowError: a column is missing, has no strings or is used twice; or a type is retired or
            has another meaning.
    """
    left_out: Counter[Fault] = Counter({Fault.NEUTRAL: table.labels.neutral})
    if not columns:
        return Originals({}, source, (), frozenset(), +left_out)
    check_types(session, columns)
    _check_distinct([sentence, *columns.values()])
    anchors = known_anchors(session, _in_the_database(shown))
    english = is_english(language)
    found: dict[Original, None] = {}
    for type_id, column in columns.items():
        for row, raw in _cells(shown, table.texts(column), left_out):
            text, fault = _readable(raw, row, english=english)
            original = Original(row.uid, type_id, text)
            if row.uid in anchors and anchors[row.uid].source != source:
                fault = Fault.OTHER_SOURCE
            if original in found:
                fault = Fault.THERE
            if fault is None:
                found[original] = None
            else:
                left_out[fault] += 1
    mine = {uid: anchor for uid, anchor in anchors.items() if anchor.source == source}
    there = _stored(session, found, mine)
    left_out[Fault.THERE] += len(there)
    texts = [original for original in found if original not in there]
    counts = {fault: left_out[fault] for fault in Fault if left_out[fault]}
    return Originals(columns, source, texts, frozenset(mine), counts)


def known_anchors(
    session: Session, uids: Collection[str], *, lock: bool = False
) -> dict[str, KnownAnchor]:
    """Text uid → anchor, for anchors in use whose current text has one of these uids.

    Args:
        lock: prevent them from being retired or corrected until this transaction ends.
    """
    found: dict[str, KnownAnchor] = {}
    for some in chunks(uids, LOOKED_UP_TOGETHER):
        query = (
            select(
                col(AnchorRevision.text_uid),
                col(Anchor.id),
                col(Anchor.uid),
                col(Anchor.revision),
                col(Source.id),
                col(Source.name),
            )
            .join(Anchor, of_current_revision())
            .join(Source, col(Source.id) == col(Anchor.source_id))
            .where(col(AnchorRevision.text_uid).in_(some), col(Anchor.retired_at).is_(None))
            .order_by(col(Anchor.id))
        )
        if lock:
            query = query.with_for_update(read=True, of=Anchor)
        found |= {row[0]: KnownAnchor(*row[1:]) for row in session.execute(query)}
    return found


def newest_variant(session: Session) -> int:
    """The id of the newest variant; 0 if there is none."""
    return session.execute(select(func.max(col(Variant.id)))).scalar() or 0


def _check_distinct(columns: Sequence[str]) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise HedgerowError(
                f"Expected a different column for each kind of text, found {quoted(column)} twice."
            )


def _in_the_database(shown: Preview) -> list[str]:
    """The uids of the rows that are current texts of anchors."""
    return [
        row.uid
        for row in shown.with_status(RowStatus.DUPLICATE)
        if row.findings[0].reason is Reason.KNOWN
    ]


def _cells(
    shown: Preview, texts: Sequence[str | None], left_out: Counter[Fault]
) -> Iterator[tuple[FileRow, str]]:
    """The rows that are or may become anchors, each with its paired text. Count the others."""
    unusable = (Reason.RETIRED, Reason.EARLIER_REVISION)
    for row, raw in zip(shown.rows, texts, strict=True):
        if not raw or raw.isspace():
            continue
        out_of_use = row.status is RowStatus.DUPLICATE and row.findings[0].reason in unusable
        if row.uid and not out_of_use:
            yield row, raw
        else:
            left_out[Fault.NO_ANCHOR] += 1


def _readable(raw: str, row: FileRow, *, english: bool) -> tuple[str, Fault | None]:
    """The canonical text, and why it cannot be a variant of the row's anchor, if so."""
    try:
        text = canonical(raw)
    except HedgerowError:
        return "", Fault.NOT_TEXT
    if len(text) > MAX_TEXT:
        return text, Fault.NOT_TEXT
    if text == row.text:
        return text, Fault.SAME
    if not text or no_sentence(text, words_of(text), english=english):
        return text, Fault.NO_SENTENCE
    return text, None


def _stored(
    session: Session, originals: Iterable[Original], anchors: Mapping[str, KnownAnchor]
) -> set[Original]:
    """The texts that are already variants of these anchors."""
    uids = {
        variant_uid(
            anchor_uid=anchors[found.anchor].uid, type_id=found.type_id, text=found.text
        ): found
        for found in originals
        if found.anchor in anchors
    }
    there = ids_by_uid(session, uids, at_once=LOOKED_UP_TOGETHER)
    return {uids[uid] for uid in there}
