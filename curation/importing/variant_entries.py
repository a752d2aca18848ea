"""Parses a row of a table: an anchor, its variants, and a verdict on them."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from curation.anchors.revisions import MAX_ANCHOR
from curation.content_uids import at_most, canonical, canonical_uid, changes
from curation.decisions.reviewers import MAX_NAME
from curation.editing.attributes import CHECKS, Attributes
from curation.editing.cues import checked_cue
from curation.editing.variants import MAX_TEXT
from curation.importing.anchor_rows import MAX_LICENCE, MAX_SOURCE
from curation.importing.cells import Judged, Meanings, judged, short, type_in
from curation.importing.column_roles import ColumnRole, ColumnRoles, text_columns
from curation.tables.delimited import quoted
from curation.tables.json_values import cell_text
from curation.tables.table import Row
from db.errors import HedgerowError
from db.models import Verdict

MAX_NOTE = 1_000
"""Maximum characters of a note; the rest is cut off."""

MAX_PROVIDER, MAX_MODEL = 80, 200


_NAMES = {
    ColumnRole.SOURCE: ("source", MAX_SOURCE),
    ColumnRole.LICENCE: ("licence", MAX_LICENCE),
    ColumnRole.REVIEWER: ("reviewer's name", MAX_NAME),
}
"""Roles of columns with names: what they name, and the maximum number of characters."""


class LeftOut(StrEnum):
    """Why a row or a variant in a file is not imported."""

    NO_ANCHOR = "no_anchor"
    ANCHOR_NOT_TEXT = "anchor_not_text"
    NO_VARIANT = "no_variant"
    NO_TYPE = "no_type"
    NOT_TEXT = "not_text"
    SAME = "same"
    UNDECIDED = "undecided"
    THERE = "there"
    OTHER_SOURCE = "other_source"
    RETIRED = "retired"
    EARLIER_REVISION = "earlier_wording"
    VERDICT_THERE = "verdict_there"
    SEVERAL_ANSWERS = "several_answers"
    REPEATED = "repeated"
    REPLACED = "replaced"


LABELS = {
    LeftOut.NO_ANCHOR: "rows without an anchor",
    LeftOut.ANCHOR_NOT_TEXT: (
        f"rows whose anchor has control characters or more than {MAX_ANCHOR:,} characters"
    ),
    LeftOut.NO_VARIANT: "rows without a variant",
    LeftOut.NO_TYPE: "variants without a type",
    LeftOut.NOT_TEXT: (
        f"variants that are no text, or have control characters or over {MAX_TEXT:,} characters"
    ),
    LeftOut.SAME: "variants that are equal to their anchor",
    LeftOut.UNDECIDED: "variants of unknown type",
    LeftOut.THERE: "variants that already exist",
    LeftOut.OTHER_SOURCE: "variants whose anchor belongs to another source",
    LeftOut.RETIRED: "variants of retired anchors",
    LeftOut.EARLIER_REVISION: "variants of an earlier revision of an anchor",
    LeftOut.VERDICT_THERE: "verdicts that already exist",
    LeftOut.SEVERAL_ANSWERS: "rows in which one person gave several answers (none was used)",
    LeftOut.REPEATED: "variants that repeat another row",
    LeftOut.REPLACED: "verdicts that their person has replaced by a later row",
}
"""The label of each reason in counts."""


class FileAnchor(NamedTuple):
    """An anchor in a file; '' for anything that the file does not say."""

    uid: str
    text: str
    source: str
    licence: str
    own: Attributes


class FileVariant(NamedTuple):
    """A variant in a file.

    Attributes:
        kind: the id of its type, or an untyped role.
        text: canonical.
    """

    kind: str
    text: str
    cue: str | None
    provider: str
    model: str


class FileVerdict(NamedTuple):
    """A verdict in a file.

    Attributes:
        reviewer: the reviewer's name; '' if the file names none.
        by: 'person', 'rule' or 'model'.
    """

    reviewer: str
    by: str
    judged: Judged


class Entry(NamedTuple):
    """The parsed contents of a row.

    Attributes:
        left_out: for each variant that is not imported, the reason.
    """

    anchor: FileAnchor | None
    variants: tuple[FileVariant, ...] = ()
    verdict: FileVerdict | None = None
    left_out: tuple[LeftOut, ...] = ()


class EntryReader:
    """Reads rows by the roles of their columns."""

    def __init__(
        self, roles: ColumnRoles, types: Mapping[str, str], meanings: Meanings | None = None
    ) -> None:
        """Prepare to read rows.

        Args:
            roles: checked roles of the columns.
            types: the result of ``roles.types_by_name``.
            meanings: meanings of verdicts, in addition to the known words.
        """
        self._columns = {
            ColumnRole(role): column for column, role in roles.items() if role in set(ColumnRole)
        }
        self._texts = text_columns(roles)
        own = self._columns.get(ColumnRole.OWN_WORDING)
        self._own = (
            {own: ColumnRole.OWN_WORDING} if own and ColumnRole.TYPE in self._columns else {}
        )
        self._types = types
        self.changed: Counter[str] = Counter()
        self._meanings = meanings or {}
        self._checked = lru_cache(maxsize=10_000)(_checked)
        self._anchored = lru_cache(maxsize=10_000)(_anchored)

    def entries(self, row: Row) -> list[Entry]:
        """Parse a row. An annotator's own wording is an entry without the verdict on the text.

        Raises:
            HedgerowError: a verdict, split, type, cue, genre, language, source or name is not
                valid; the message says where.
        """
        raw = _each(row.cells.get(self._columns[ColumnRole.ANCHOR]))
        text, uid, fault = self._anchored(
            raw[0] if len(raw) == 1 and isinstance(raw[0], str) else ""
        )
        if fault is not None:
            return [Entry(None, left_out=(fault,))]
        variants, left_out = self._variants(row, text, self._texts)
        own, faults = self._variants(row, text, self._own)
        if not variants and not own:
            return [Entry(None, left_out=left_out + faults or (LeftOut.NO_VARIANT,))]
        self.changed.update(changes(raw[0], text))
        anchor = self._anchor(row, uid, text)
        verdict = self._verdict(row)
        if isinstance(verdict, LeftOut):
            left_out, verdict = (*left_out, verdict), None
        entries = [Entry(anchor, variants, verdict, left_out)]
        return [*entries, Entry(anchor, own, None, faults)] if own or faults else entries

    def _anchor(self, row: Row, uid: str, text: str) -> FileAnchor:
        source, licence = self._value(row, ColumnRole.SOURCE), self._value(row, ColumnRole.LICENCE)
        own = (self._value(row, ColumnRole(name)) for name in CHECKS)
        return FileAnchor(uid, text, source, licence, Attributes(*own))

    def _variants(
        self, row: Row, anchor: str, columns: Mapping[str, str]
    ) -> tuple[tuple[FileVariant, ...], tuple[LeftOut, ...]]:
        found: list[FileVariant] = []
        left_out: list[LeftOut] = []
        for raw, role in (
            (raw, role) for column, role in columns.items() for raw in _each(row.cells.get(column))
        ):
            if raw is None or (isinstance(raw, str) and (not raw or raw.isspace())):
                continue
            text, fault = _readable(raw, anchor)
            kind = self._type(row) if role in (ColumnRole.TEXT, ColumnRole.OWN_WORDING) else role
            if fault is None and not kind:
                fault = LeftOut.NO_TYPE
            if fault is not None:
                left_out.append(fault)
                continue
            self.changed.update(changes(raw, text))
            cue = self._value(row, ColumnRole.CUE)
            provider = short(self._cell(row, ColumnRole.PROVIDER), longest=MAX_PROVIDER)
            model = short(self._cell(row, ColumnRole.MODEL), longest=MAX_MODEL)
            found.append(FileVariant(kind, text, cue or None, provider, model))
        return tuple(found), tuple(left_out)

    def _type(self, row: Row) -> str:
        column = self._columns[ColumnRole.TYPE]
        value = cell_text(row.cells.get(column))
        return type_in(value, self._types, place=row.place, column=column)

    def _verdict(self, row: Row) -> FileVerdict | LeftOut | None:
        column = self._columns.get(ColumnRole.VERDICT)
        if column is None:
            by = cell_text(self._cell(row, ColumnRole.DECIDED_BY)).casefold()
            known = by in ("person", "rule", "model")
            return FileVerdict("", by, Judged(Verdict.ACCEPT)) if known else None
        value = row.cells.get(column)
        if isinstance(value, list) and len(value) > 1:
            return LeftOut.SEVERAL_ANSWERS
        found = judged(
            cell_text(value),
            reason=cell_text(self._cell(row, ColumnRole.REASON)),
            note=short(self._cell(row, ColumnRole.NOTE), longest=MAX_NOTE),
            meanings=self._meanings,
            place=row.place,
            column=column,
        )
        reviewer = self._value(row, ColumnRole.REVIEWER)
        return FileVerdict(reviewer, "person", found) if found else None

    def _cell(self, row: Row, role: ColumnRole) -> Any:
        column = self._columns.get(role)
        return row.cells.get(column) if column is not None else None

    def _value(self, row: Row, role: ColumnRole) -> str:
        """Return the checked value of a cell; '' if there is none."""
        value = cell_text(self._cell(row, role))
        if not value:
            return ""
        try:
            return self._checked(role, value)
        except HedgerowError as error:
            where = f"{row.place} in {quoted(self._columns[role])}"
            raise HedgerowError(f"On {where}: {error}") from None


def _each(value: Any) -> list[Any]:
    """The values of a cell, which can hold a list."""
    return value if isinstance(value, list) else [value]


def _checked(role: ColumnRole, value: str) -> str:
    """The value of a cell in this role, in its stored form."""
    if role is ColumnRole.CUE:
        return checked_cue(value) or ""
    if role in CHECKS:
        return CHECKS[role](value)
    what, longest = _NAMES[role]
    return at_most(longest, canonical(value), f"a {what}")


def _anchored(raw: str) -> tuple[str, str, LeftOut | None]:
    """Return the canonical text of an anchor with its uid, or why it can't be one."""
    try:
        text = canonical(raw)
    except HedgerowError:
        return "", "", LeftOut.ANCHOR_NOT_TEXT
    if not text:
        return "", "", LeftOut.NO_ANCHOR
    if len(text) > MAX_ANCHOR:
        return "", "", LeftOut.ANCHOR_NOT_TEXT
    return text, canonical_uid(text), None


def _readable(raw: Any, anchor: str) -> tuple[str, LeftOut | None]:
    """Return the canonical text of a variant, and why it can't be one of this anchor."""
    try:
        text = canonical(raw) if isinstance(raw, str) else ""
    except HedgerowError:
        return "", LeftOut.NOT_TEXT
    if not text or len(text) > MAX_TEXT:
        return "", LeftOut.NOT_TEXT
    return text, LeftOut.SAME if text == anchor else None
