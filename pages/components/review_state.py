"""What a review session remembers between two key presses, and what each key does.

No widgets here: the page draws, this decides what is drawn and hands the keys' meaning to
``curation.review``.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Engine
from sqlmodel import Session

from curation import review
from curation.decisions import StatusChange
from curation.measures import LEVENSHTEIN_THRESHOLD
from curation.project import THRESHOLD, get_setting
from curation.queue import Card, Order, card, family, next_variant, status_counts
from curation.review import Outcome, Shown
from curation.taxonomy import VariantType, reject_reason
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Status, Variant

MIN_SHOWN_SECONDS = 0.2
"""A key counts only if its card has been there this long: nobody has read it before."""


class Panel(StrEnum):
    """What is open below the card."""

    NONE = ""
    EDIT = "edit"
    REJECT = "reject"
    RETYPE = "retype"
    KEYS = "keys"


@dataclass(frozen=True)
class View:
    """The cards to draw and the one that the keys mean; none when the queue is empty."""

    cards: tuple[Card, ...]
    focus: Card | None


@dataclass
class ReviewState:
    """One reviewer's place in the queue, in one window.

    Attributes:
        pinned: a variant to show whatever its status: after an undo, or by its permalink.
        focus_id: the variant that the keys mean; None to take the next of the queue.
        showings: by variant id, what is on the screen now.
        drawn: by action id, when its card was first drawn (monotonic seconds).
    """

    engine: Engine
    reviewer_id: int
    types: list[VariantType]
    type_id: str | None = None
    order: Order = Order.OLDEST
    by_family: bool = False
    panel: Panel = Panel.NONE
    details: bool = False
    pinned: int | None = None
    focus_id: int | None = None
    skipped: set[int] = field(default_factory=set)
    showings: dict[int, Shown] = field(default_factory=dict)
    drawn: dict[str, float] = field(default_factory=dict)
    message: str = ""
    warn: bool = False
    counts: dict[str, dict[Status, int]] = field(default_factory=dict)
    threshold: int = LEVENSHTEIN_THRESHOLD
    edited: int = 0

    # -- what to draw ------------------------------------------------------------------

    def recount(self) -> None:
        """Read the counts from the database; between two key presses they are kept in step."""
        with reading(self.engine) as session:
            self.counts = status_counts(session)
            self.threshold = int(get_setting(session, THRESHOLD))

    def pending(self, type_id: str) -> int:
        """Pending variants of a type."""
        return self.counts.get(type_id, {}).get(Status.PENDING, 0)

    def first_pending_type(self) -> str | None:
        """The first type, in the taxonomy's order, with something to review."""
        return next((entry.id for entry in self.types if self.pending(entry.id)), None)

    def view(self) -> View:
        """Read what is to be seen now."""
        with reading(self.engine) as session:
            variant_id = self.pinned or self.focus_id or self._next(session)
            if variant_id is None:
                self.showings = {}
                return View((), None)
            focus = card(session, variant_id)
            cards = self._family(session, focus) if self.by_family else (focus,)
        self.focus_id = variant_id
        self._show(tuple(c.variant for c in cards))
        return View(cards, focus)

    def _family(self, session: Session, focus: Card) -> tuple[Card, ...]:
        """The family's cards; a wording that an edit replaced only if it is the one in focus."""
        return tuple(
            item
            for item in family(session, focus.variant.anchor_id)
            if item.variant.status != Status.SUPERSEDED or item.variant.id == focus.variant.id
        )

    def _next(self, session: Session) -> int | None:
        type_ids = [self.type_id] if self.type_id else [entry.id for entry in self.types]
        variant = next_variant(session, type_ids=type_ids, order=self.order, skipped=self.skipped)
        return None if variant is None else variant.id

    def _show(self, variants: tuple[Variant, ...]) -> None:
        """Keep the showings of unchanged cards, so that redrawing does not renew them."""
        old = self.showings
        self.showings = {}
        for variant in variants:
            known = old.get(variant.id or 0)
            if known is None or known.version != variant.version:
                known = review.shown(variant, at=datetime.now(UTC))
            self.showings[known.variant_id] = known
        ids = {showing.action_id for showing in self.showings.values()}
        self.drawn = {key: at for key, at in self.drawn.items() if key in ids}

    def drawn_now(self) -> None:
        """Note the moment at which the cards went to the browser."""
        moment = time.monotonic()
        for showing in self.showings.values():
            self.drawn.setdefault(showing.action_id, moment)

    # -- what the keys do --------------------------------------------------------------

    @property
    def typing(self) -> bool:
        """Whether an editor is open, so that keys are text; a late key may still come in."""
        return self.panel in (Panel.EDIT, Panel.REJECT)

    def _is_on_screen(self, shown: Shown) -> bool:
        """Whether a key can be meant for this card: it is there, and long enough to be read."""
        at = self.drawn.get(shown.action_id)
        return at is not None and time.monotonic() - at >= MIN_SHOWN_SECONDS

    def _act(self, shown: Shown, said: str, do: Callable[[Session], Outcome]) -> bool:
        """Do it, unless the key came too early or too late; whether something was stored."""
        if not self._is_on_screen(shown):
            return False
        try:
            with writing(self.engine) as session:
                outcome = do(session)
        except HedgerowError as error:
            self._say(str(error), warn=True)
            return False
        if not outcome.recorded:
            return False
        self._count(outcome.changes)
        self.panel = Panel.NONE
        self.pinned = None
        self._move_on(shown)
        if outcome.overtaken:
            names = ", ".join(outcome.overtaken)
            self._say(
                f"{said} Meanwhile {names} had decided on it, too; both decisions are kept.",
                warn=True,
            )
        else:
            self._say(f"{said} Z takes it back.")
        return True

    def accept(self, shown: Shown) -> None:
        """A: the variant is good as it stands."""
        if self.typing:
            return
        self._act(
            shown,
            "Accepted.",
            lambda session: review.accept(session, shown, reviewer_id=self.reviewer_id),
        )

    def reject_at_once(self, shown: Shown, reason: str) -> None:
        """A digit: the variant is bad for this reason."""
        if not self.typing:
            self.reject(shown, reason)

    def reject(self, shown: Shown, reason: str, note: str = "") -> None:
        """A digit, or the reject panel: the variant is bad for this reason."""
        self._act(
            shown,
            f"Rejected: {reject_reason(reason).label.lower()}.",
            lambda session: review.reject(
                session, shown, reviewer_id=self.reviewer_id, reason=reason, note=note
            ),
        )

    def reject_family(self, shown: Shown) -> None:
        """F: the anchor is unsuitable, and so is all that was made from it."""
        if self.typing:
            return
        self._act(
            shown,
            "Rejected the whole family: anchor unsuitable.",
            lambda session: review.reject_family(session, shown, reviewer_id=self.reviewer_id),
        )

    def edit(
        self,
        shown: Shown,
        *,
        text: str | None = None,
        type_id: str | None = None,
        cue: str | None = None,
        reason: str = "",
        note: str = "",
    ) -> None:
        """E or T: replace the text, the type, or both."""

        def do(session: Session) -> Outcome:
            return review.edit(
                session, shown, reviewer_id=self.reviewer_id,
                text=text, type_id=type_id, cue=cue, reason=reason, note=note,
            )  # fmt: skip

        if self._act(shown, "Retyped." if text is None else "Edited.", do):
            self.edited += 1

    def skip(self, shown: Shown) -> None:
        """S: leave it undecided and go on; it comes back in the next session."""
        if self.typing or not self._is_on_screen(shown):
            return
        self.skipped.add(shown.variant_id)
        self.pinned = None
        self.panel = Panel.NONE
        self._move_on(shown)
        self._say("Skipped; it stays pending.")

    def undo(self) -> None:
        """Z: take back this reviewer's latest action, however long ago, and show its card."""
        if self.typing:
            return
        try:
            with writing(self.engine) as session:
                undone = review.undo(session, reviewer_id=self.reviewer_id)
        except HedgerowError as error:
            self._say(str(error), warn=True)
            return
        if undone is None:
            self._say("There is nothing left to take back.")
            return
        self._count(undone.changes)
        self.panel = Panel.NONE
        self.pinned = self.focus_id = undone.variant_id
        self.skipped.discard(undone.variant_id)
        more = f" and {undone.decisions - 1} more" if undone.decisions > 1 else ""
        self._say(f"Took back: {undone.verdict}{more}.")

    def focus(self, variant_id: int) -> None:
        """Let the keys mean another card of the family."""
        self.pinned = None
        self.focus_id = variant_id
        self.panel = Panel.NONE

    def step(self, shown: Shown, by: int) -> None:
        """Up and down in the family view."""
        ids = list(self.showings)
        if shown.variant_id in ids:
            self.focus(ids[(ids.index(shown.variant_id) + by) % len(ids)])

    def toggle(self, panel: Panel) -> None:
        """Open a panel, or close it if it is open."""
        self.panel = Panel.NONE if self.panel == panel else panel
        self.message = ""

    def toggle_details(self) -> None:
        """G: show or hide siblings, guideline, origin and history."""
        self.details = not self.details

    def restart(self) -> None:
        """Begin at the head of the queue: another type, another order, another view."""
        self.pinned = self.focus_id = None
        self.panel = Panel.NONE
        self.message = ""

    def _move_on(self, shown: Shown) -> None:
        """Go to the next undecided card of the family, or to the next of the queue."""
        self.focus_id = None
        if not self.by_family:
            return
        with reading(self.engine) as session:
            rest = [
                c.variant.id
                for c in family(session, session.get_one(Variant, shown.variant_id).anchor_id)
                if c.variant.status == Status.PENDING and c.variant.id not in self.skipped
            ]
        self.focus_id = rest[0] if rest else None

    def _count(self, changes: tuple[StatusChange, ...]) -> None:
        for change in changes:
            if change.before is change.after:
                continue
            numbers = self.counts.setdefault(change.type_id, dict.fromkeys(Status, 0))
            if change.before is not None:
                numbers[change.before] = max(0, numbers.get(change.before, 0) - 1)
            numbers[change.after] = numbers.get(change.after, 0) + 1

    def _say(self, message: str, *, warn: bool = False) -> None:
        self.message, self.warn = message, warn
