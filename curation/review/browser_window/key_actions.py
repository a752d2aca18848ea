"""What each key of the review page does. No widgets here: the page draws, and calls this."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from curation.review import actions
from curation.review.actions import ActionOutcome, ShownCard
from curation.review.browser_window import messages
from curation.review.browser_window.queue_position import Panel
from curation.review.browser_window.resuming import Resuming
from curation.review.browser_window.shown_now import Viewer
from curation.review.browser_window.undo_keys import SkippedCard, Undoing
from curation.review.decisions import StatusChange
from curation.review.discussing import is_marked, lift, mark
from curation.review.drafts import DraftKind
from curation.review.history import history
from curation.review.notes import add_note
from curation.review.opinions.stored import GivenOpinion
from curation.review.queue import Queue
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.reject_reasons import applicable_reason, reject_reason
from curation.variants.before_saving import CUE, Look, look_at_edit
from curation.variants.own import write_variant
from db.columns import now
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant

MIN_SHOWN_SECONDS = 0.2
"""A key counts only if its card has been there this long: nobody has read it before.

Since it was drawn here; keys.js holds to the same for the time since it appeared in the browser.
"""


@dataclass
class ReviewState(Undoing, Resuming, Viewer):
    """A reviewer's place, and what the keys do there.

    Attributes:
        retype_page: which of the types T offers, nine a page; any number, taken modulo the pages.
        asked: the kinds of concern that saving has asked about since the editor opened.
        proposed: a cue for the editor's field to be given when it is drawn next.
        given_cue: what the editor itself last gave its field for the cue.
        retyping_to: the type that the editor begins with, where T needs a cue; '' for the card's.
    """

    retype_page: int = 0
    asked: frozenset[str] = frozenset()
    proposed: str = ""
    given_cue: str = ""
    retyping_to: str = ""

    @property
    def choosing(self) -> bool:
        """Whether T, X or E waits for a digit: one pressed before its row came means that."""
        return self.panel in (Panel.RETYPE, Panel.REASON, Panel.WORDING)

    def _is_on_screen(self, shown: ShownCard) -> bool:
        """Whether a key can be meant for this card: it is there, and long enough to be read."""
        at = self.drawn.get(shown.action_id)
        return at is not None and time.monotonic() - at >= MIN_SHOWN_SECONDS

    def pass_over(self) -> None:
        """Say quietly that a key came too early; what the key before it did stays said."""
        if self.showings and messages.TOO_EARLY not in self.message:
            self.say(f"{self.message} {messages.TOO_EARLY}".strip(), warn=self.warn)

    def _act(self, shown: ShownCard, said: str, do: Callable[[Session], ActionOutcome]) -> bool:
        """Do it, unless the key came too early or too late; whether something was stored."""
        if not self._is_on_screen(shown):
            self.pass_over()
            return False
        try:
            with writing(self.engine) as session:
                outcome = do(session)
                following = None
                if outcome.recorded:
                    self._decided(session, shown.variant_id)
                    if self.queue is Queue.CONFLICT and not shown.settles:  # it stays there
                        self.skipped.add(shown.variant_id)
                    following = self._following(session, shown)
        except HedgerowError as error:
            self.screen.held = frozenset()  # what was leased along with it is not
            self.say(str(error), warn=True)
            return False
        if not outcome.recorded:
            return False
        self.recent.append(shown.action_id)
        self.pace.did(shown.action_id)
        self._count(outcome.changes)
        if self.selection is not None:
            self.selection.decided(change.variant_id for change in outcome.changes)
        self._move_to(following)
        self._tell(shown, said, outcome)
        self._also_there(shown.variant_id)
        return True

    def _tell(self, shown: ShownCard, said: str, outcome: ActionOutcome) -> None:
        """Say what was stored; what others did is told now, when it can no longer sway."""
        said = f"{said} {outcome.remark}".strip()
        if outcome.outdated:
            self.say(f"{said} {messages.OUTDATED}", warn=True)
        elif shown.blind or (outcome.overtaken and not shown.gold):
            with reading(self.engine) as session:
                past = [] if shown.gold else history(session, shown.variant_id)
                parts = [said, messages.verdicts(past, me=self.reviewer_id, action=shown)]
                if shown.blind:
                    judged = outcome.child_id or shown.variant_id
                    parts.append(messages.flags_of(session, judged))
            told = " ".join(filter(None, parts))
            self.say(f"{told} Z takes it back.", warn=bool(outcome.overtaken) and not shown.gold)
        else:
            self.say(f"{said} Z takes it back.")

    # -- deciding ----------------------------------------------------------------------

    def accept(self, shown: ShownCard) -> None:
        """A: the variant is good as it stands."""
        if self.typing:
            return
        self._act(
            shown,
            "You settled it: accepted." if shown.settles else "Accepted.",
            lambda session: actions.accept(session, shown, reviewer_id=self.reviewer_id),
        )

    def reject_at_once(self, shown: ShownCard, reason: str) -> None:
        """A digit: the variant is bad for this reason."""
        if not (self.typing or self.choosing):
            self.reject(shown, reason)

    def choose_reason(self, entry: VariantType, reason: str) -> None:
        """X and a digit: write a note to a rejection of this type for this reason."""
        if self.typing:
            return
        try:
            self.reason = applicable_reason(reason, entry).id
        except HedgerowError as error:
            self.say(str(error), warn=True)
        else:
            self.panel, self.form_id = Panel.REJECT, str(uuid.uuid4())

    def reject(self, shown: ShownCard, reason: str, note: str = "") -> None:
        """The variant is bad for this reason."""
        why = reject_reason(reason).label.lower()
        self._act(
            shown,
            f"You settled it: rejected ({why})." if shown.settles else f"Rejected: {why}.",
            lambda session: actions.reject(
                session, shown, reviewer_id=self.reviewer_id, reason=reason, note=note
            ),
        )

    def reject_family(self, shown: ShownCard) -> None:
        """F: the anchor is unsuitable, and so is all that was made from it."""
        if self.typing or self.choosing:
            return
        self._act(
            shown,
            "Rejected the whole family: anchor unsuitable.",
            lambda session: actions.reject_family(session, shown, reviewer_id=self.reviewer_id),
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
        """E or T: replace the text, the type, the cue, or several of them."""

        def do(session: Session) -> ActionOutcome:
            return actions.edit(
                session,
                shown,
                reviewer_id=self.reviewer_id,
                text=text,
                type_id=type_id,
                cue=cue,
                reason=reason,
                note=note,
            )

        if self._act(shown, "Retyped." if text is None else "Edited.", do):
            self.edited += 1

    def retype(self, shown: ShownCard, type_id: str) -> None:
        """T and a digit: the text is of this type; the editor opens where its cue is wanted."""
        with reading(self.engine) as session:
            seen = look_at_edit(session, shown.variant_id, type_id=type_id)
        if seen.proposed is None or not self._is_on_screen(shown):
            self.edit(shown, type_id=type_id)
            return
        self.toggle(Panel.EDIT)
        self.asks(seen)
        self.retyping_to = type_id

    def asks(self, seen: Look) -> bool:
        """Whether there is something to ask before the text is saved: each kind of concern once."""
        new = seen.kinds - self.asked
        self.asked |= new
        if CUE in new:
            self.proposed = seen.proposed or ""
            self.say(seen.refusal, warn=True)
        elif new:
            self.message = ""
        return bool(new)

    def skip(self, shown: ShownCard) -> None:
        """S: leave it undecided and go on; it comes back in the next session."""
        if self.typing:
            return
        if not self._is_on_screen(shown):
            self.pass_over()
            return
        self.skipped.add(shown.variant_id)
        self.skips.append(SkippedCard(shown.variant_id, now()))
        with writing(self.engine) as session:
            following = self._following(session, shown)
        self._move_to(following)
        self.say("Skipped; it stays as it was. Z takes it back.")

    # -- writing -----------------------------------------------------------------------

    def note(self, shown: ShownCard, text: str) -> None:
        """N: add a note to the variant without deciding on it."""
        try:
            with writing(self.engine) as session:
                add_note(session, shown.variant_id, reviewer_id=self.reviewer_id, text=text)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return
        self.panel = Panel.NONE
        self.forget(shown.variant_id, [DraftKind.NOTE])
        self.say("Note added. It decides nothing. Z takes it back.")

    def discuss(self, shown: ShownCard) -> None:
        """D: mark the variant “discuss”, with a remark; where it is marked, lift the mark."""
        if self.typing or self.choosing:
            return
        if self.focus_id != shown.variant_id:  # a key before it has brought another card
            self.pass_over()
            return
        with reading(self.engine) as session:
            is_to_lift = is_marked(session, shown.variant_id)
        if not is_to_lift:
            self.toggle(Panel.DISCUSS)
            return
        with writing(self.engine) as session:
            lift(session, shown.variant_id, reviewer_id=self.reviewer_id)
        self.say("No longer marked “discuss”. Z takes that back.")

    def mark(self, shown: ShownCard, remark: str) -> None:
        """Mark the variant “discuss”."""
        try:
            with writing(self.engine) as session:
                mark(session, shown.variant_id, reviewer_id=self.reviewer_id, remark=remark)
        except HedgerowError as error:
            self.say(str(error), warn=True)
            return
        self.panel = Panel.NONE
        self.forget(shown.variant_id, [DraftKind.DISCUSS])
        self.say("Marked “discuss”: it is on the Adjudicate page. Z takes it back.")

    def write(self, shown: ShownCard, *, type_id: str, text: str, cue: str | None) -> None:
        """W: add a variant of one's own to the card's anchor."""
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
        self.forget(shown.variant_id, [DraftKind.WRITE])
        self.pace.did(self.form_id)
        self._count((change,))
        said = f"Added your variant to this anchor, accepted. {written.remark}".strip()
        self.say(f"{said} Z takes that back.")

    # -- what is open ------------------------------------------------------------------

    def step(self, shown: ShownCard, by: int) -> None:
        """Up and down in the family view."""
        ids = list(self.showings)
        if shown.variant_id in ids:
            self.focus(ids[(ids.index(shown.variant_id) + by) % len(ids)])

    def toggle(self, panel: Panel) -> None:
        """Open a panel, or close it if it is open."""
        self.panel = Panel.NONE if self.panel == panel else panel
        self.suggested = None
        self.retype_page = 0
        self.asked, self.proposed, self.retyping_to = frozenset(), "", ""
        self.form_id = str(uuid.uuid4())
        self.message = ""

    def discard(self, shown: ShownCard) -> None:
        """Close the editor and forget what it holds; editor.js forgets what the browser has."""
        self.forget(shown.variant_id, [self.draft_kind])
        self.toggle(self.panel)

    @property
    def draft_kind(self) -> DraftKind:
        """Which editor is open, as drafts are kept by it."""
        return DraftKind.SUGGESTION if self.suggested else DraftKind(self.panel.value)

    def next_types(self) -> None:
        """T and 0: offer the types beyond those that have a digit now."""
        self.retype_page += 1

    def edit_from(self, opinion: GivenOpinion) -> None:
        """Open the editor with what an opinion suggests."""
        self.toggle(Panel.EDIT)
        self.suggested = opinion

    def toggle_details(self) -> None:
        """G: show or hide siblings, origin, notes and history."""
        self.details = not self.details

    def toggle_guide(self) -> None:
        """I: show or hide the guideline beside the card."""
        if not self.typing:
            self.guide = not self.guide
            self.redraw = True

    def toggle_blind(self) -> None:
        """B: hide diagnostics and other people's verdicts, or show them again."""
        if self.typing:
            return
        self.blind = not self.blind
        self.redraw = True
        self.say(messages.BLIND if self.blind else "Diagnostics and verdicts are shown.")
