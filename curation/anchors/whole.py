"""An anchor with all its variants and revisions, read in one transaction."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from curation.anchors.lookup import FoundAnchor, Revision, anchor_history, one_anchor
from curation.project.opening import THRESHOLD, get_setting
from curation.review.cards import Card, card, family


class WholeAnchor(NamedTuple):
    """An anchor, its variants and its revisions, the first revision first."""

    anchor: FoundAnchor
    variants: list[Card]
    revisions: list[Revision]


def whole_anchor(session: Session, uid: str) -> WholeAnchor | None:
    """The anchor with this uid, retired or not; None if it does not exist."""
    anchor = one_anchor(session, uid)
    if anchor is None:
        return None
    return WholeAnchor(anchor, family(session, anchor.id), anchor_history(session, anchor.id))


class MeasuredCard(NamedTuple):
    """A variant's card, and the current Levenshtein threshold in characters."""

    card: Card
    threshold: int


def measured_card(session: Session, variant_id: int) -> MeasuredCard:
    """A variant with the threshold for its measurements."""
    return MeasuredCard(card(session, variant_id), int(get_setting(session, THRESHOLD)))
