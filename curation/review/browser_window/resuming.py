"""Continue where a window of the same reviewer was lost. There are no widgets here."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from curation.review.browser_window.drafting import Drafting
from curation.review.browser_window.queue_position import Panel
from curation.review.drafts import DraftKind, newest_draft
from curation.review.positions import StoredPosition, left_positions, take_over
from db.engine import reading, writing

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
