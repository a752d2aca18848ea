"""Entries of the audit trail, and filters for them."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """The kind of action."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    SETTLE = "settle"
    RULE = "rule"
    UNDO = "undo"
    NOTE = "note"
    DISCUSS = "discuss"
    CORRECTION = "anchor correction"
    RELEASE = "release"


class Filters(NamedTuple):
    """Filters. None and '' keep everything.

    Attributes:
        since, until: the start (inclusive) and the end (exclusive) of the period.
        text: a part of the variant's text, or its uid; for corrections, a part of the anchor's new
            text.
    """

    reviewer_id: int | None = None
    kind: Kind | None = None
    type_id: str | None = None
    source_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


class Entry(NamedTuple):
    """An action.

    Attributes:
        who: a name; '' if unknown.
        detail: depending on the kind: verdict, reason and note; the undone verdict; the note; the
            kind of mark and its remark; the anchor's old text; or number and name of the release.
        uid: the variant's; '' for corrections and releases.
        text: the variant's, or the anchor's new text.
    """

    at: datetime
    who: str
    kind: Kind
    detail: str
    uid: str = ""
    type_id: str = ""
    source: str = ""
    text: str = ""

    def facts(self) -> dict[str, str]:
        """The entry as JSON data."""
        return dict(zip(COLUMNS, self.row(), strict=True))

    def row(self) -> tuple[str, ...]:
        """The values in the order of `COLUMNS`."""
        return (self.at.isoformat(), *self[1:2], self.kind.value, *self[3:])


COLUMNS = ("at", "reviewer", "kind", "detail", "uid", "type", "source", "text")
