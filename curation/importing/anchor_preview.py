"""Preview of a file: whether each row is new, a duplicate, suspicious or impossible.

This module stores nothing. A row is checked by itself (``curation.anchors.checks``), then against
all revisions of the anchors in the database and the rows before it in the file.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.anchors.checks import Finding, Reason, suspicions
from curation.anchors.revisions import MAX_ANCHOR
from curation.content_uids import (
    CHANGES,
    Change,
    canonical,
    canonical_uid,
    changes,
    near_key,
    words_of,
)
from curation.editing.attributes import CHECKS, Attributes
from curation.formatting import counted
from curation.importing.labels import LabelledTable
from curation.importing.sample import length_band, stratified_sample
from curation.tables.columns import FileTable
from curation.tables.delimited import quoted
from db.engine import collector_paused
from db.errors import HedgerowError
from db.models import Anchor, AnchorRevision

_FETCHED_AT_ONCE = 5_000
_SHOWN = 60


class RowStatus(StrEnum):
    """What will happen to a row."""

    NEW = "new"
    DUPLICATE = "duplicate"
    SUSPICIOUS = "suspicious"
    IMPOSSIBLE = "impossible"


class FileRow(NamedTuple):
    """A checked row of the file.

    Attributes:
        line: line number in the file, from 1.
        text: canonical text, as it would be stored; for an impossible row the text in the file.
        uid: uid of the text; '' for an impossible row.
        own: what the file says about it.
        findings: the reasons for any other status than new, the decisive one first.
    """

    line: int
    text: str
    uid: str
    own: Attributes
    status: RowStatus
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class Preview:
    """All checked rows of a file, and the state of the database at that time.

    Attributes:
        revisions: number of anchor revisions in the database; they are never deleted.
        changed: what the canonical form changes, and in how many texts.
    """

    rows: Sequence[FileRow]
    content_hash: str
    revisions: int
    changed: Mapping[Change, int]

    @cached_property
    def statuses(self) -> dict[RowStatus, int]:
        """How many rows have each status."""
        counts = Counter(row.status for row in self.rows)
        return {status: counts[status] for status in RowStatus}

    @cached_property
    def reasons(self) -> dict[Reason, int]:
        """Number of rows with each reason; a row can have several."""
        counts = Counter(finding.reason for row in self.rows for finding in row.findings)
        return {reason: counts[reason] for reason in Reason if counts[reason]}

    def with_status(self, *statuses: RowStatus) -> list[FileRow]:
        """The rows with one of these statuses, in the file's order."""
        return [row for row in self.rows if row.status in statuses]

    def chosen(
        self,
        *,
        suspicious: bool | Collection[int] = False,
        sample: int | None = None,
        seed: int = 0,
    ) -> list[FileRow]:
        """The rows to add, in the file's order.

        Args:
            suspicious: whether to include suspicious rows; or the lines of those to include.
            sample: size of a sample that keeps the proportions of length bands and genres; None
                takes all rows.
            seed: seed of the sample.

        Raises:
            HedgerowError: the sample is larger than the number of rows.
        """
        rows = self.with_status(RowStatus.NEW, RowStatus.SUSPICIOUS)
        if suspicious is not True:
            lines = suspicious or ()
            rows = [row for row in rows if row.status is RowStatus.NEW or row.line in lines]
        if sample is None:
            return rows
        return stratified_sample(
            rows,
            sample,
            seed=seed,
            uid=lambda row: row.uid,
            stratum=lambda row: (row.own.genre, length_band(row.text)),
        )


_ReadRow = tuple[int, str, str, str, Attributes, tuple[Finding, ...]]
"""A row before comparison: line, text, uid, near-duplicate key, attributes, findings.

A plain tuple, because there is one per row and each is short-lived.
"""


def preview(
    session: Session,
    table: LabelledTable,
    *,
    column: str,
    attributes: Mapping[str, str] | None = None,
    language: str = "en",
) -> Preview:
    """Check every row of a file.

    Args:
        column: column with the sentences.
        attributes: attribute of an anchor → its column, if the file has one.
        language: language of the other sentences; the checks for negations, hedges and the like
            only work for English.

    Raises:
        HedgerowError: a column is missing, or a value is not valid; the message says where.
    """
    with collector_paused():
        changed: Counter[Change] = Counter()
        own = _attributes(table, attributes or {})
        readable = list(_read_rows(table, column, own, language, changed))
        known, nearly = _known(session, {row[2] for row in readable}, {row[3] for row in readable})
        rows = list(_compared(readable, known, nearly, table.unit))
    return Preview(rows, table.content_hash, count_revisions(session), changed)


def changed(counts: Mapping[Change, int]) -> list[str]:
    """What storing the texts in their canonical form changes, in one sentence if anything."""
    parts = [f"in {counted(n, 'text')}, {CHANGES[change]}" for change, n in counts.items()]
    return [f"Changed: {'; '.join(parts)}."] * bool(parts)


def count_revisions(session: Session) -> int:
    """Number of anchor revisions in the database."""
    return session.execute(select(func.count()).select_from(AnchorRevision)).scalar_one()


def _read_rows(
    table: LabelledTable,
    column: str,
    attributes: Iterable[Attributes],
    language: str,
    changed: Counter[Change],
) -> Iterator[_ReadRow]:
    rows = zip(table.lines, table.texts(column), attributes, strict=True)
    for number, (line, raw, own) in enumerate(rows):
        text, trouble = _readable(raw)
        if (why := table.labels.rejected.get(number)) is not None:
            trouble = Finding(Reason.REJECTED, why)
        if trouble:
            yield line, text, "", "", own, (trouble,)
            continue
        if raw != text:
            changed.update(changes(raw or "", text))
        words = words_of(text)
        found = suspicions(text, words, language=own.language or language)
        yield line, text, canonical_uid(text), near_key(text, words), own, found


def _readable(raw: str | None) -> tuple[str, Finding | None]:
    """The canonical text, or the unchanged text and why it cannot be an anchor."""
    try:
        text = canonical(raw or "")
    except HedgerowError as error:
        shown = (raw or "").encode("utf-8", "replace").decode("utf-8")  # no half surrogate pairs
        return shown, Finding(Reason.NOT_TEXT, str(error))
    if not text:
        return "", Finding(Reason.EMPTY, "It is empty.")
    if len(text) > MAX_ANCHOR:
        sentence = f"It has {len(text):,} characters; an anchor has at most {MAX_ANCHOR:,}."
        return text, Finding(Reason.TOO_LONG, sentence)
    return text, None


def _attributes(table: FileTable, columns: Mapping[str, str]) -> list[Attributes]:
    """The attributes of all rows."""
    none = Attributes()
    if not columns:
        return [none] * len(table.lines)
    rows = zip(*(_checked(table, columns[name], name) for name in columns), strict=True)
    known = lru_cache(maxsize=1_000)(lambda row: Attributes(**dict(zip(columns, row, strict=True))))
    return [known(row) for row in rows]


def _checked(table: FileTable, column: str, name: str) -> Iterator[str]:
    """The values of an attribute."""
    check = lru_cache(maxsize=1_000)(CHECKS[name])
    for line, value in zip(table.lines, table.as_texts(column), strict=True):
        try:
            yield check(value) if value else ""
        except HedgerowError as error:
            where = f"{table.unit} {line:,} of {table.name}"
            raise HedgerowError(f"On {where} in {quoted(column)}: {error}") from None


def _known(
    session: Session, uids: set[str], keys: set[str]
) -> tuple[Mapping[str, Finding], Mapping[str, Finding]]:
    """The findings of the database for these uids and near-duplicate keys.

    Checks all revisions of all anchors, a few thousand at a time.
    """
    current = col(AnchorRevision.revision) == col(Anchor.revision)
    query = (
        select(
            col(AnchorRevision.text_uid),
            col(AnchorRevision.text),
            current,
            col(Anchor.retired_at).is_not(None),
        )
        .join(Anchor, col(Anchor.id) == col(AnchorRevision.anchor_id))
        .execution_options(yield_per=_FETCHED_AT_ONCE)
    )
    known: dict[str, Finding] = {}
    nearly: dict[str, Finding] = {}
    for uid, text, is_current, is_retired in session.execute(query):
        if uid in uids:
            known[uid] = _same(text, is_current=is_current, is_retired=is_retired)
        key = near_key(text, words_of(text))
        if key in keys:
            nearly[key] = _nearly(f"the anchor “{_short(text)}”")
    return known, nearly


def _same(text: str, *, is_current: bool, is_retired: bool) -> Finding:
    if is_retired:
        return Finding(Reason.RETIRED, "It is a retired anchor, which can be restored.")
    if is_current:
        return Finding(Reason.KNOWN, "It is already an anchor.")
    return Finding(Reason.EARLIER_REVISION, "It is the text of an anchor before a correction.")


def _nearly(what: str) -> Finding:
    return Finding(Reason.NEARLY_KNOWN, f"It differs only in case or punctuation from {what}.")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _compared(
    readable: Sequence[_ReadRow],
    known: Mapping[str, Finding],
    nearly: Mapping[str, Finding],
    unit: str,
) -> Iterable[FileRow]:
    """The rows with their statuses, after comparison with the database and the rows before them."""
    lines: dict[str, int] = {}
    keys: dict[str, int] = {}
    for line, text, uid, key, own, findings in readable:
        status = RowStatus.NEW
        if not uid:
            status = RowStatus.IMPOSSIBLE
        elif uid in known:
            status, findings = RowStatus.DUPLICATE, (known[uid],)
        elif uid in lines:
            finding = Finding(Reason.REPEATED, f"It repeats {unit} {lines[uid]:,}.")
            status, findings = RowStatus.DUPLICATE, (finding,)
        else:
            lines[uid] = line
            if key in nearly:
                findings = (nearly[key], *findings)
            elif key and keys.setdefault(key, line) != line:
                findings = (_nearly(f"{unit} {keys[key]:,}"), *findings)
            status = RowStatus.SUSPICIOUS if findings else RowStatus.NEW
        yield FileRow(line, text, uid, own, status, findings)
