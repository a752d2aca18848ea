"""Details of the card that a window shows: origin, notes, history, the anchor's other variants."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.decisions.history import PastDecision, decided_by, history
from curation.decisions.notes import WrittenNote, notes
from curation.diagnostics.opinions import counting_judges
from curation.generation.run_report import written_by
from curation.review.browser_window.shown_now import ReviewWindow
from curation.review.cards import Card
from curation.review.discussing import MarkEvent, mark_events
from curation.review.gold import mixing
from db.models import Variant


class Details(NamedTuple):
    """The details of a card.

    Attributes:
        origin: lines about the source of the anchor and of the variant.
        past: the decisions.
        written: the notes.
        removed: the removed notes.
        marks: the marks for discussion and their removals.
        models: names of the models that have judged the variant and whose verdicts count.
        siblings: the anchor's other variants that are in use.
        hidden: ids of the siblings whose status is hidden.
    """

    origin: list[str]
    past: list[PastDecision]
    written: list[WrittenNote]
    removed: list[WrittenNote]
    marks: list[MarkEvent]
    models: list[str]
    siblings: list[Card]
    hidden: frozenset[int]

    def own_part(self, name: str) -> "Details":
        """The details of a gold item that a reviewer of this name may see: only their own."""
        return self._replace(
            past=[one for one in self.past if one.reviewer == name and not one.settles],
            written=[one for one in self.written if one.reviewer == name],
            removed=[one for one in self.removed if one.reviewer == name],
            marks=[one for one in self.marks if one.reviewer == name],
            models=[],
        )


def details_of(session: Session, window: ReviewWindow, focus: Card, *, hidden: bool) -> Details:
    """The details of a card.

    Args:
        hidden: leave out what could influence a blind reviewer: who wrote the variant, and the
            status of siblings on which they have not decided.
    """
    key, me = focus.variant.id, window.reviewer_id
    siblings = window.siblings(session, focus)
    gold = mixing.undecided(session, me, [key, *(item.variant.id for item in siblings)])
    known = Details(
        origin=_origin(session, focus, hidden=hidden),
        past=history(session, key),
        written=notes(session, key),
        removed=notes(session, key, removed=True),
        marks=mark_events(session, key),
        models=counting_judges(session, key),
        siblings=[
            mixing.as_pending(session, item, me) if item.variant.id in gold else item
            for item in siblings
        ],
        hidden=_hidden_siblings(session, window, siblings, hidden=hidden),
    )
    return known.own_part(window.reviewer_name) if key in gold else known


def _hidden_siblings(
    session: Session, window: ReviewWindow, siblings: list[Card], *, hidden: bool
) -> frozenset[int]:
    found = window.hidden(session, [item.variant for item in siblings])
    if hidden:
        ids = [item.variant.id for item in siblings]
        found |= frozenset(ids) - decided_by(session, window.reviewer_id, ids)
    return found


def _origin(session: Session, focus: Card, *, hidden: bool) -> list[str]:
    """The origin of the anchor and the variant. ``hidden`` leaves out who wrote the variant."""
    variant = focus.variant
    if hidden:
        return [focus.source]
    parts = [focus.source, variant.provider, variant.model]
    lines = [" · ".join(part for part in dict.fromkeys(parts) if part)]
    if prompt := written_by(session, variant):
        lines.append(prompt)
    if variant.parent_id is not None:
        lines.append(f"Edited from {session.get_one(Variant, variant.parent_id).uid}.")
    if focus.made_for != focus.anchor:
        lines.append(f"Made for an earlier text of the anchor: {focus.made_for}")
    return lines
