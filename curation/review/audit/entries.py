"""What somebody did, and what to look for among all that was done."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What somebody did."""

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
    """What to keep to; None and '' keep everything.

    Attributes:
        since, until: the moments from which and before which it happened.
        text: a part of the variant's text, or its uid; of a correction, of the anchor's new text.
    """

    reviewer_id: int | None = None
    kind: Kind | None = None
    type_id: str | None = None
    source_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""


class Entry(NamedTuple):
    """Something that somebody did.

    Attributes:
        who: '' where nobody is on record.
        detail: the verdict, reason and note; the note; what a mark does, and its remark; the old
            text; the name of the release.
        uid: the variant's; '' for corrections and releases.
        text: the variant's, or the anchor's new one.
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
        """The same as JSON has it."""
        return dict(zip(COLUMNS, self.row(), strict=True))

    def row(self) -> tuple[str, ...]:
        """Its values in the order of `COLUMNS`."""
        return (self.at.isoformat(), *self[1:2], self.kind.value, *self[3:])


COLUMNS = ("at", "reviewer", "kind", "detail", "uid", "type", "source", "text")
