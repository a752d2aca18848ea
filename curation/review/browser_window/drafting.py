"""What is typed in the editors of one window, kept in the database. No widgets here."""

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
    """A reviewer's place, and what is typed there.

    Attributes:
        reason: the reject reason chosen for a rejection with a note.
        form_id: a new one whenever a panel opens, so that what the panel saves is saved once.
        drafted: variants with a draft of this reviewer; so deciding on others forgets nothing.
        begun: what the open editor began with; of which form, card and editor that is.
        stored: what the database has of the open editor.
    """

    reason: str = "other"
    form_id: str = ""
    drafted: set[int] = field(default_factory=set)
    begun: tuple[tuple[str, int, DraftKind] | None, dict[str, str]] = (None, {})
    stored: dict[str, str] = field(default_factory=dict)

    def know_drafts(self) -> None:
        """Read which variants have drafts; from then on they are known."""
        with reading(self.engine) as session:
            self.drafted = drafted_variants(session, reviewer_id=self.reviewer_id)

    def draft(self, variant_id: int, kind: DraftKind) -> dict[str, str]:
        """What the open editor begins with: what was typed in it before, empty for nothing."""
        form = (self.form_id, variant_id, kind)
        if self.begun[0] != form:
            with reading(self.engine) as session:
                found = find_draft(session, variant_id, kind, reviewer_id=self.reviewer_id)
            self.begun, self.stored = (form, found), found
        return self.begun[1]

    def keep(self, variant_id: int, kind: DraftKind, fields: Fields, *, untouched: Fields) -> None:
        """Store what the open editor holds; nothing where it holds what it does untouched.

        Where the database can't take it, that is said; the browser has it still.
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
        """Forget what was typed in these editors."""
        if variant_id in self.drafted:
            with writing(self.engine) as session:
                self._forget(session, variant_id, kinds)
        self.begun, self.stored = (None, {}), {}

    def _decided(self, session: Session, variant_id: int) -> None:
        """A card was decided on: what would have decided it otherwise is forgotten."""
        if variant_id in self.drafted:
            self._forget(session, variant_id, DECIDING)

    def _forget(self, session: Session, variant_id: int, kinds: Collection[DraftKind]) -> None:
        forget_drafts(session, variant_id, kinds, reviewer_id=self.reviewer_id)
