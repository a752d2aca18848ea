"""The drafts in the editors of one window, stored in the database. There are no widgets here."""

from collections.abc import Collection
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from curation.review.browser_window.queue_position import QueuePosition
from curation.review.drafts import (
    DECIDING,
    DraftKind,
    Fields,
    drafted_variants,
    find_draft,
    forget_drafts,
    keep_draft,
)
from db.engine import reading, writing
from db.errors import HedgerowError


@dataclass
class Drafting(QueuePosition):
    """A reviewer's position and drafts.

    Attributes:
        reason: the chosen reason for a rejection with a note.
        form_id: a new id whenever a panel opens, so that each panel saves only once.
        drafted: ids of the variants with a draft of this reviewer; a decision on any other needs no
            look for drafts.
        begun: form, card and editor of the open editor, and its initial contents.
        stored: the stored contents of the open editor.
    """

    reason: str = "other"
    form_id: str = ""
    drafted: set[int] = field(default_factory=set)
    begun: tuple[tuple[str, int, DraftKind] | None, dict[str, str]] = (None, {})
    stored: dict[str, str] = field(default_factory=dict)

    def know_drafts(self) -> None:
        """Read which variants have drafts. After that, ``drafted`` is kept up to date."""
        with reading(self.engine) as session:
            self.drafted = drafted_variants(session, reviewer_id=self.reviewer_id)

    def draft(self, variant_id: int, kind: DraftKind) -> dict[str, str]:
        """The draft that the open editor starts with; empty if there is none."""
        form = (self.form_id, variant_id, kind)
        if self.begun[0] != form:
            with reading(self.engine) as session:
                found = find_draft(session, variant_id, kind, reviewer_id=self.reviewer_id)
            self.begun, self.stored = (form, found), found
        return self.begun[1]

    def keep(self, variant_id: int, kind: DraftKind, fields: Fields, *, untouched: Fields) -> None:
        """Store the contents of the open editor as a draft, unless they equal ``untouched``.

        If that fails, the window says so. The browser still has the text.
        """
        wanted = {} if fields == untouched else dict(fields)
        if wanted == self.stored:
            return
        try:
            with writing(self.engine) as session:
                if wanted:
                    keep_draft(session, variant_id, kind, wanted, reviewer_id=self.reviewer_id)
                else:
                    self._forget(session, variant_id, [kind])
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return
        self.stored = wanted
        if wanted:
            self.drafted.add(variant_id)

    def forget(self, variant_id: int, kinds: Collection[DraftKind]) -> None:
        """Delete the drafts in these editors."""
        if variant_id in self.drafted:
            with writing(self.engine) as session:
                self._forget(session, variant_id, kinds)
        self.begun, self.stored = (None, {}), {}

    def _decided(self, session: Session, variant_id: int) -> None:
        """After a decision on a card, delete drafts of other decisions on it."""
        if variant_id in self.drafted:
            self._forget(session, variant_id, DECIDING)

    def _forget(self, session: Session, variant_id: int, kinds: Collection[DraftKind]) -> None:
        forget_drafts(session, variant_id, kinds, reviewer_id=self.reviewer_id)
