"""Details of the card that a window shows: origin, notes, history, the anchor's other variants."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.generation.run_report import written_by
from curation.review.browser_window.shown_now import Viewer
from curation.review.cards import Card
from curation.review.discussing import MarkEvent, mark_events
from curation.review.gold import mixing
from curation.review.history import PastDecision, history
from curation.review.notes import WrittenNote, notes, removed_notes
from curation.review.opinions.stored import counting_judges
from db.models import Variant


class Details(NamedTuple):
    """All that is known of a card.

    Attributes:
        origin: where the anchor and the variant come from, a line each.
        removed: notes that were taken back.
        marks: that it was marked “discuss”, and lifts of marks.
        models: names of the models whose verdicts count, and which have judged the variant.
        siblings: the other variants of the anchor that are in use.
        veiled: ids of the siblings whose diagnostics and verdicts are not to be seen.
    """

    origin: list[str]
    past: list[PastDecision]
    written: list[WrittenNote]
    removed: list[WrittenNote]
    marks: list[MarkEvent]
    models: list[str]
    siblings: list[Card]
    veiled: frozenset[int]

    def own_part(self, name: str) -> "Details":
        """What a reviewer of this name knows of a gold item: nothing that others said or did."""
        return self._replace(
            past=[one for one in self.past if one.reviewer == name and not one.settles],
            written=[one for one in self.written if one.reviewer == name],
            removed=[one for one in self.removed if one.reviewer == name],
            marks=[one for one in self.marks if one.reviewer == name],
            models=[],
        )


def details_of(session: Session, viewer: Viewer, focus: Card, *, hidden: bool) -> Details:
    """The details of a card.

    Args:
        hidden: leave out who wrote the variant, which could sway a blind reader.
    """
    key, me = focus.variant.id, viewer.reviewer_id
    siblings = viewer.beside(session, focus)
    gold = mixing.undecided(session, me, [key, *(item.variant.id for item in siblings)])
    known = Details(
        origin=_origin(session, focus, hidden=hidden),
        past=history(session, key),
        written=notes(session, key),
        removed=removed_notes(session, key),
        marks=mark_events(session, key),
        models=counting_judges(session, key),
        siblings=[
            mixing.as_pending(session, item, me) if item.variant.id in gold else item
            for item in siblings
        ],
        veiled=viewer.veiled(session, [item.variant for item in siblings]),
    )
    return known.own_part(viewer.reviewer_name) if key in gold else known


def _origin(session: Session, focus: Card, *, hidden: bool) -> list[str]:
    """Where the anchor and the variant come from; who wrote it could sway a blind reader."""
    variant = focus.variant
    if hidden:
        return [focus.source]
    parts = [focus.source, variant.provider, variant.model]
    said = [" · ".join(part for part in dict.fromkeys(parts) if part)]
    if prompt := written_by(session, variant):
        said.append(prompt)
    if variant.parent_id is not None:
        said.append(f"Made by an edit of {session.get_one(Variant, variant.parent_id).uid}.")
    if focus.made_for != focus.anchor:
        said.append(f"Made for an earlier wording of the anchor: {focus.made_for}")
    return said
