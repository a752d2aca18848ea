"""The drafts in the editors of one window, taking up a lost window, and undo."""

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import Undone
from curation.review.browser_window.queue_position import Panel, QueuePosition
from curation.review.drafts import (
    DECIDING,
    DraftKind,
    Fields,
    StoredPosition,
    drafted_variants,
    find_draft,
    forget_drafts,
    keep_draft,
    left_positions,
    newest_draft,
    take_over,
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


# -- Continue where a window of the same reviewer was lost. There are no widgets here -------------


_PANELS = {
    DraftKind.EDIT: Panel.EDIT,
    DraftKind.REJECT: Panel.REJECT,
    DraftKind.NOTE: Panel.NOTE,
    DraftKind.WRITE: Panel.WRITE,
    DraftKind.DISCUSS: Panel.DISCUSS,
}
"""The panel to reopen for a draft. The draft of a suggestion waits for J, which shows opinions."""


@dataclass
class Resuming(Drafting):
    """A reviewer's position, and the positions of their lost windows.

    Attributes:
        left_at: positions of lost windows, newest first; empty after ``resume``.
    """

    left_at: list[StoredPosition] = field(default_factory=list)

    def find_left(self, is_open: Callable[[str], bool], *, go_there: bool) -> None:
        """Find the positions of lost windows, from which ``resume`` continues.

        Args:
            is_open: whether a window that this process serves is open.
            go_there: switch to the queue of the newest one; False if the user chose another queue.
        """
        with reading(self.engine) as session:
            self.left_at = left_positions(session, reviewer_id=self.reviewer_id, is_open=is_open)
        if not (go_there and self.left_at):
            return
        place = self.left_at[0].place
        types, sources = {entry.id for entry in self.types}, set(self.sources)
        if place.type_id in {None, *types} and place.source_id in {None, *sources}:
            self.go_to(
                queue=place.queue,
                type_id=place.type_id,
                source_id=place.source_id,
                order=place.order,
                family=place.by_family,
            )

    def resume(self) -> None:
        """Show the card and the open editor of the newest lost window with the same place.

        The card is shown if it still needs a decision, or if this reviewer has a draft on it.
        """
        lost = [position for position in self.left_at if position.place == self.place]
        self.left_at = []
        if not lost or not self.in_queue or self.pinned is not None:
            return
        window, _, variant_id = lost[0]
        with writing(self.engine) as session:
            take_over(session, window)
            if variant_id is None:
                return
            is_next = bool(self._among(session, {variant_id}, of_any_type=self.by_family))
            draft = newest_draft(session, variant_id, reviewer_id=self.reviewer_id)
        if is_next:
            self.focus(variant_id)
        elif draft is not None:
            self.pin(variant_id)
        if draft is not None and draft.kind in _PANELS:
            self.panel, self.form_id = _PANELS[draft.kind], str(uuid.uuid4())
            self.reason = draft.fields.get("reason", self.reason)


# -- Undo in one window. There are no widgets here ------------------------------------------------


_TYPING = (Panel.EDIT, Panel.REJECT, Panel.NOTE, Panel.DISCUSS, Panel.WRITE)


class SkippedCard(NamedTuple):
    """A skipped card, and when it was skipped."""

    variant_id: int
    at: datetime


@dataclass
class Undoing(Drafting):
    """A reviewer's position, and the action of Z there.

    Attributes:
        skips: skipped cards in order of time. A selection that contains a card cancels its skip.
    """

    skips: list[SkippedCard] = field(default_factory=list)

    @property
    def typing(self) -> bool:
        """Whether an editor is open, so that keys are text. Late keys may still arrive."""
        return self.panel in _TYPING

    def undo(self) -> None:
        """Z: undo the last thing this reviewer did, however long ago, and show its card.

        Stored actions include those of other windows and earlier days; skips are this window's.
        """
        if self.typing:
            return
        skip = next((s for s in reversed(self.skips) if s.variant_id in self.skipped), None)
        after = skip and skip.at
        undone = self._take_back(
            lambda session: actions.undo(session, reviewer_id=self.reviewer_id, after=after)
        )
        if undone or self.warn:
            return
        if skip is None:
            self.say("There is nothing left to undo.")
            return
        self.skips.remove(skip)
        self.skipped.discard(skip.variant_id)
        self.pin(skip.variant_id)
        self.say("Skip undone.")

    def take_back(self, action_id: str) -> None:
        """Undo any one of the latest decisions, and show its card."""
        self._take_back(
            lambda session: actions.retract_action(session, action_id, reviewer_id=self.reviewer_id)
        )

    def _take_back(self, do: Callable[[Session], Undone | None]) -> bool:
        """Undo something and show its card, or the error. Return whether anything was undone."""
        self.warn = False
        try:
            with writing(self.engine) as session:
                undone = do(session)
                if undone is not None:
                    self._worked(session, undone.changes)
                if undone is not None and self.selection is not None:
                    self.selection.reopened(session, undone.changes)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return False
        if undone is None:
            return False
        self.drafted.add(undone.variant_id)  # an undone edit is a draft again
        self.pace.undid(undone.action_id)
        self._count(undone.changes)
        self.pin(undone.variant_id)
        self.skipped.discard(undone.variant_id)
        self.say(str(undone))
        return True
