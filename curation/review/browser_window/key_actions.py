"""The actions of the keys on the Review page. There are no widgets here; the page calls this."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.decisions.history import history
from curation.decisions.storing import StatusChange
from curation.diagnostics.opinions import GivenOpinion
from curation.editing.own_variants import write_variant
from curation.review import deciding
from curation.review.browser_window import messages
from curation.review.browser_window.editors import UNDO, Editors
from curation.review.browser_window.queue_position import Panel, ReviewPace
from curation.review.deciding import ActionOutcome, ShownCard, Undone
from curation.review.discussing import is_marked, lift
from curation.review.drafts import (
    DraftKind,
)
from curation.review.edit_preview import preview_edit
from curation.review.large_actions import undo_rest
from curation.review.queue import Queue
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import applicable_reason, reject_reason
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant

MIN_SHOWN_SECONDS = 0.2
"""Minimum time for which a card must be shown before keys count: nobody can read it faster.

Measured from drawing the card on the server. keys.js checks the same from its appearance in the
browser.
"""


class SkippedCard(NamedTuple):
    """A skipped card, and when it was skipped."""

    variant_id: int
    at: datetime


@dataclass
class ReviewState(Editors):
    """A reviewer's window, and the actions of the keys there.

    Attributes:
        guide: show the guideline next to the card.
        redraw: the page around the card needs to be redrawn, too.
        has_opinions: models have given second opinions in this project.
        opinions: the opinions shown below the card.
        opinions_on: id of the showing for which they were requested.
        skips: skipped cards in order of time. A selection that contains a card cancels its skip.
        choices: the menus that are drawn, by the letter that steps through them: the key of each
            and its entries.
    """

    guide: bool = True
    details: bool = False
    pace: ReviewPace = field(default_factory=ReviewPace)
    edited: int = 0
    redraw: bool = False
    has_opinions: bool = False
    opinions: tuple[GivenOpinion, ...] = ()
    opinions_on: str = ""
    skips: list[SkippedCard] = field(default_factory=list)
    choices: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def _is_on_screen(self, shown: ShownCard) -> bool:
        """Whether a key can be for this card: it has been on the screen long enough to read."""
        at = self.drawn.get(shown.action_id)
        return at is not None and time.monotonic() - at >= MIN_SHOWN_SECONDS

    def ignore_key(self) -> None:
        """Say that a key was pressed too early, after the message about the key before it."""
        if self.showings and messages.TOO_EARLY not in self.message:
            self.say(f"{self.message} {messages.TOO_EARLY}".strip(), warn=self.warn)

    def _act(self, shown: ShownCard, what: str, act: Callable[..., ActionOutcome]) -> bool:
        """Do something with a card, unless the key was too early or too late.

        Args:
            what: the action, for the message.
            act: a function of ``curation.review.deciding``.

        Returns:
            Whether it was stored.
        """
        if not self._is_on_screen(shown):
            self.ignore_key()
            return False
        try:
            with writing(self.engine) as session:
                outcome = act(session, shown, reviewer_id=self.reviewer_id)
                message = messages.done(what, session.get_one(Variant, shown.variant_id).text)
                following = None
                if outcome.recorded:
                    self.drafts.decided(session, shown.variant_id)
                    self.worked(session, outcome.changes)
                    if self.queue is Queue.CONFLICT and not shown.settles:  # stays in the queue
                        self.skipped.add(shown.variant_id)
                    following = self._following(session, shown)
        except HedgerowError as error:
            self.screen.held = frozenset()  # leases of the same transaction were rolled back
            self.say(str(error), warn=True)
            return False
        if not outcome.recorded:
            return False
        self.recent.append(shown.action_id)
        self.pace.did(shown.action_id)
        self.count(outcome.changes)
        if self.selection is not None:
            self.selection.decided(change.variant_id for change in outcome.changes)
        self.focus(following)
        self._report(shown, message, outcome)
        self._report_holder(shown.variant_id)
        return True

    def _report(self, shown: ShownCard, message: str, outcome: ActionOutcome) -> None:
        """Say what was stored, and what others did, which can no longer influence the reviewer."""
        message = f"{message} {outcome.remark}".strip()
        waits = any(c.by_after for c in outcome.changes if c.variant_id == shown.variant_id)
        if outcome.outdated:
            self.say(f"{message} {messages.OUTDATED}", warn=True)
        elif shown.blind or (outcome.overtaken and not shown.gold):
            with reading(self.engine) as session:
                past = [] if shown.gold else history(session, shown.variant_id)
                parts = [message]
                if not waits:  # otherwise the verdicts stay hidden until everybody has decided
                    parts.append(messages.verdicts(past, me=self.reviewer_id, action=shown))
                if shown.blind:
                    judged = outcome.child_id or shown.variant_id
                    parts.append(messages.flags_of(session, judged))
            message = " ".join(filter(None, parts))
            self.say(f"{message} {UNDO}", warn=bool(outcome.overtaken) and not shown.gold)
        else:
            self.say(f"{message} {UNDO}")

    # -- deciding ----------------------------------------------------------------------

    def accept(self, shown: ShownCard) -> None:
        """A: accept the variant as it is."""
        if self.typing:
            return
        self._act(
            shown,
            "Settled as accepted" if shown.settles else "Accepted",
            deciding.accept,
        )

    def reject_at_once(self, shown: ShownCard, reason: str) -> None:
        """A digit: reject the variant for this reason."""
        if not (self.typing or self.choosing):
            self.reject(shown, reason)

    def choose_reason(self, entry: VariantType, reason: str) -> None:
        """X and a digit: open the note for a rejection for this reason."""
        if self.typing:
            return
        try:
            self.reason = applicable_reason(reason, entry).id
        except HedgerowError as error:
            self.say(str(error), warn=True)
        else:
            self.panel, self.form_id = Panel.REJECT, str(uuid.uuid4())

    def reject(self, shown: ShownCard, reason: str, note: str = "") -> None:
        """Reject the variant for this reason."""
        why = reject_reason(reason).label.lower()
        self._act(
            shown,
            f"Settled as rejected ({why})" if shown.settles else f"Rejected ({why})",
            partial(deciding.reject, reason=reason, note=note),
        )

    def reject_family(self, shown: ShownCard) -> None:
        """F: reject all variants of the anchor, because the anchor is unsuitable."""
        if self.typing or self.choosing:
            return
        self._act(
            shown,
            "Rejected with the whole family (anchor unsuitable)",
            deciding.reject_family,
        )

    def edit(
        self,
        shown: ShownCard,
        *,
        text: str | None = None,
        type_id: str | None = None,
        cue: str | None = None,
        reason: str = "",
        note: str = "",
    ) -> None:
        """E or T: replace the text, type or cue, or several of them."""
        edit = partial(deciding.edit, text=text, type_id=type_id, cue=cue, reason=reason, note=note)
        if self._act(shown, "Type changed" if text is None else "Edited", edit):
            self.edited += 1

    def retype(self, shown: ShownCard, type_id: str) -> None:
        """T and a digit: give the variant this type. If that needs a cue, the editor opens."""
        with reading(self.engine) as session:
            seen = preview_edit(session, shown.variant_id, type_id=type_id)
        if seen.proposed is None or not self._is_on_screen(shown):
            self.edit(shown, type_id=type_id)
            return
        self.toggle(Panel.EDIT)
        self.asks(seen)
        self.retyping_to = type_id

    def skip(self, shown: ShownCard) -> None:
        """S: go on without deciding. The card comes back in the next session."""
        if self.typing:
            return
        if not self._is_on_screen(shown):
            self.ignore_key()
            return
        self.skipped.add(shown.variant_id)
        self.skips.append(SkippedCard(shown.variant_id, now()))
        with writing(self.engine) as session:
            following = self._following(session, shown)
        self.focus(following)
        self.say(f"Skipped. Nothing was decided. {UNDO}")

    # -- undo --------------------------------------------------------------------------

    def undo(self) -> None:
        """Z: undo the last thing this reviewer did, however long ago, and show its card.

        Stored actions include those of other windows and earlier days; skips are this window's.
        """
        if self.typing:
            return
        skip = next((s for s in reversed(self.skips) if s.variant_id in self.skipped), None)
        after = skip and skip.at
        if self._take_back(partial(deciding.undo, after=after)) or self.warn:
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
        self._take_back(partial(deciding.retract_action, action_id=action_id))

    def _take_back(self, retract: Callable[..., Undone | None]) -> bool:
        """Undo something and show its card, or the error. Return whether anything was undone."""
        self.warn = False
        try:
            with writing(self.engine) as session:
                undone = retract(session, reviewer_id=self.reviewer_id)
                if undone is None:
                    return False
                self._reopened(session, undone)
            if undone.left:  # a rule over thousands of variants
                undone = undo_rest(self.engine, undone, reviewer_id=self.reviewer_id)
                with reading(self.engine) as session:
                    self._reopened(session, undone)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return False
        self.drafts.known.add(undone.variant_id)  # an undone edit is a draft again
        self.pace.undid(undone.action_id)
        self.count(undone.changes)
        self.pin(undone.variant_id)
        self.skipped.discard(undone.variant_id)
        self.say(str(undone))
        return True

    def _reopened(self, session: Session, undone: Undone) -> None:
        self.worked(session, undone.changes)
        if self.selection is not None:
            self.selection.reopened(session, undone.changes)

    # -- writing -----------------------------------------------------------------------

    def discuss(self, shown: ShownCard) -> None:
        """D: mark the variant for discussion, with a remark; if it is marked, remove the mark."""
        if self.typing or self.choosing:
            return
        if self.focus_id != shown.variant_id:  # the key before it has changed the card
            self.ignore_key()
            return
        with reading(self.engine) as session:
            has_mark = is_marked(session, shown.variant_id)
        if not has_mark:
            self.toggle(Panel.DISCUSS)
            return
        with writing(self.engine) as session:
            lift(session, shown.variant_id, reviewer_id=self.reviewer_id)
        self.say(f"No longer marked for discussion. {UNDO}")

    def write(self, shown: ShownCard, *, type_id: str, text: str, cue: str | None) -> None:
        """W: add the reviewer's own variant to the card's anchor."""
        try:
            with writing(self.engine) as session:
                anchor_id = session.get_one(Variant, shown.variant_id).anchor_id
                written = write_variant(
                    session,
                    anchor_id=anchor_id,
                    type_id=type_id,
                    text=text,
                    cue=cue,
                    reviewer_id=self.reviewer_id,
                    action_id=self.form_id,
                )
                new = written.variant
                change = StatusChange(new.id, new.type_id, new.source_id, None, Status.ACCEPTED)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return
        self.panel = Panel.NONE
        if not written.recorded:
            return
        self.edited += 1
        self.drafts.forget(shown.variant_id, [DraftKind.WRITE])
        self.pace.did(self.form_id)
        self.count((change,))
        message = f"Your variant was added and accepted. {written.remark}".strip()
        self.say(f"{message} {UNDO}")

    # -- what is shown ------------------------------------------------------------------

    def step(self, shown: ShownCard, by: int) -> None:
        """Up and down: move to another card in the family view."""
        ids = list(self.showings)
        if shown.variant_id in ids:
            self.focus(ids[(ids.index(shown.variant_id) + by) % len(ids)])

    def toggle_details(self) -> None:
        """G: show or hide the details."""
        self.details = not self.details

    def toggle_guide(self) -> None:
        """I: show or hide the guideline next to the card."""
        if not self.typing:
            self.guide = not self.guide
            self.redraw = True

    def toggle_blind(self) -> None:
        """B: hide diagnostics and other people's verdicts, or show them again."""
        if self.typing:
            return
        self.blind = not self.blind
        self.redraw = True
        self.say(messages.BLIND if self.blind else messages.NOT_BLIND)
