"""The editors and other panels below the card, their drafts, and taking up a lost window."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from curation.decisions.notes import add_note
from curation.diagnostics.opinions import GivenOpinion
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.shown_now import ReviewWindow
from curation.review.deciding import ShownCard
from curation.review.discussing import mark
from curation.review.drafts import (
    DraftKind,
    Drafts,
    Fields,
    StoredPosition,
    left_positions,
    newest_draft,
    take_over,
)
from curation.review.edit_preview import CUE, SavePreview
from db.engine import reading, writing
from db.errors import HedgerowError

UNDO = "Press Z to undo."

_TYPING = (Panel.EDIT, Panel.REJECT, Panel.NOTE, Panel.DISCUSS, Panel.WRITE)

_PANELS = {
    DraftKind.EDIT: Panel.EDIT,
    DraftKind.REJECT: Panel.REJECT,
    DraftKind.NOTE: Panel.NOTE,
    DraftKind.WRITE: Panel.WRITE,
    DraftKind.DISCUSS: Panel.DISCUSS,
}
"""The panel to reopen for a draft. The draft of a suggestion waits for J, which shows opinions."""


@dataclass
class Editors(ReviewWindow):
    """A reviewer's window, and the panel that is open in it.

    Attributes:
        suggested: the opinion whose suggestion the editor starts with.
        reason: the chosen reason for a rejection with a note.
        form_id: a new id whenever a panel opens, so that each panel saves only once.
        left_at: positions of lost windows, newest first; empty after ``resume``.
        retype_page: the page of types that T offers, modulo the number of pages.
        asked: the kinds of concern that saving has asked about since the editor opened.
        proposed: a cue to put into the editor's field when it is drawn next.
        given_cue: the cue that the editor itself last put into its field.
        retyping_to: the editor's initial type if T needs a cue; '' for the card's type.
    """

    suggested: GivenOpinion | None = None
    reason: str = "other"
    form_id: str = ""
    drafts: Drafts = field(init=False)
    left_at: list[StoredPosition] = field(default_factory=list)
    retype_page: int = 0
    asked: frozenset[str] = frozenset()
    proposed: str = ""
    given_cue: str = ""
    retyping_to: str = ""

    def __post_init__(self) -> None:
        """Give each position its own window and drafts."""
        super().__post_init__()
        self.drafts = Drafts(self.engine, self.reviewer_id)

    @property
    def typing(self) -> bool:
        """Whether an editor is open, so that keys are text. Late keys may still arrive."""
        return self.panel in _TYPING

    @property
    def choosing(self) -> bool:
        """Whether T, X or E waits for a digit, even if the row of choices has not appeared yet."""
        return self.panel in (Panel.RETYPE, Panel.REASON, Panel.WORDING)

    def toggle(self, panel: Panel) -> None:
        """Open a panel, or close it if it is open."""
        self.panel = Panel.NONE if self.panel == panel else panel
        self.suggested = None
        self.retype_page = 0
        self.asked, self.proposed, self.retyping_to = frozenset(), "", ""
        self.form_id = str(uuid.uuid4())
        self.message = ""

    def discard(self, shown: ShownCard) -> None:
        """Close the editor and delete its draft. editor.js deletes the browser's copy."""
        self.drafts.forget(shown.variant_id, [self.draft_kind])
        self.toggle(self.panel)

    def keep_draft(self, variant_id: int, fields: Fields, *, untouched: Fields) -> None:
        """Store the contents of the open editor as a draft. If that fails, say so."""
        try:
            self.drafts.keep(variant_id, self.draft_kind, fields, untouched=untouched)
        except HedgerowError as error:
            self.say(str(error), warn=True)

    @property
    def draft_kind(self) -> DraftKind:
        """The kind of draft in the open editor."""
        return DraftKind.SUGGESTION if self.suggested else DraftKind(self.panel.value)

    def next_types(self) -> None:
        """T and 0: offer the next page of types."""
        self.retype_page += 1

    def edit_from(self, opinion: GivenOpinion) -> None:
        """Open the editor with the text that an opinion suggests."""
        self.toggle(Panel.EDIT)
        self.suggested = opinion

    def asks(self, seen: SavePreview) -> bool:
        """Whether to ask before saving the text. Each kind of concern is asked about once."""
        new = seen.kinds - self.asked
        self.asked |= new
        if CUE in new:
            self.proposed = seen.proposed or ""
            self.say(seen.refusal, warn=True)
        elif new:
            self.message = ""
        return bool(new)

    def note(self, shown: ShownCard, text: str) -> None:
        """N: add a note without deciding on the variant."""
        add = partial(add_note, text=text)
        self._remark(shown, add, draft=DraftKind.NOTE, done="Note added.")

    def _remark(
        self, shown: ShownCard, add: Callable[..., object], *, draft: DraftKind, done: str
    ) -> None:
        try:
            with writing(self.engine) as session:
                add(session, shown.variant_id, reviewer_id=self.reviewer_id)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return
        self.panel = Panel.NONE
        self.drafts.forget(shown.variant_id, [draft])
        self.say(f"{done} {UNDO}")

    def mark(self, shown: ShownCard, remark: str) -> None:
        """Mark the variant for discussion."""
        done = "Marked for discussion. The Adjudicate page lists it."
        self._remark(shown, partial(mark, remark=remark), draft=DraftKind.DISCUSS, done=done)

    # -- continuing where a window of the same reviewer was lost -----------------------

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
            self.go_to(place)

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
            is_next = bool(self.among(session, {variant_id}, of_any_type=self.by_family))
            draft = newest_draft(session, variant_id, reviewer_id=self.reviewer_id)
        if is_next:
            self.focus(variant_id)
        elif draft is not None:
            self.pin(variant_id)
        if draft is not None and draft.kind in _PANELS:
            self.panel, self.form_id = _PANELS[draft.kind], str(uuid.uuid4())
            self.reason = draft.fields.get("reason", self.reason)
