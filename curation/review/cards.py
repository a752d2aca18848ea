"""Cards: variants with everything that a reviewer needs to judge them."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Row, Select, func, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.lookup import FoundAnchor, Revision, anchor_history, one_anchor
from curation.anchors.revisions import of_current_revision
from curation.decisions.notes import is_kept
from curation.diagnostics.measures import Flag
from curation.project.settings import THRESHOLD, active_encoder_id, get_setting
from db.models import (
    Anchor,
    AnchorRevision,
    Diagnostic,
    Note,
    Source,
    Status,
    TypeRow,
    Variant,
    VariantCosine,
)


@dataclass(frozen=True)
class Card:
    """A variant with what a reviewer needs to judge it.

    Attributes:
        anchor: the current text of its anchor.
        levenshtein: distance to the anchor in characters; None until it is measured, like
            length_ratio and content_kept (flags are empty until then).
        cosine: cosine similarity to the anchor in [-1, 1], by the active encoder; None until it is
            measured.
        made_for: the anchor's text when the variant was made.
        notes: number of notes.
    """

    variant: Variant
    anchor: str
    genre: str
    source: str
    levenshtein: int | None
    length_ratio: float | None
    content_kept: float | None
    flags: Flag
    cosine: float | None
    made_for: str
    notes: int

    def is_shown_with(self, focus: "Card") -> bool:
        """Whether it is shown with another card of its family.

        Superseded variants are not, nor are retired ones if that card is in use.
        """
        variant = self.variant
        is_seen = not variant.retired or focus.variant.retired
        return variant.id != focus.variant.id and variant.status != Status.SUPERSEDED and is_seen


_CardRow = tuple[Variant, str, str, str, Diagnostic | None, float | None, str, int]


def _card_query(session: Session) -> Select[*_CardRow]:
    encoder_id = active_encoder_id(session)
    made_for = aliased(AnchorRevision)
    notes = (
        select(func.count())
        .select_from(Note)
        .where(col(Note.variant_id) == col(Variant.id), is_kept())
        .scalar_subquery()
    )
    return (
        select(
            Variant,
            col(AnchorRevision.text),
            col(Anchor.genre),
            col(Source.name),
            Diagnostic,
            col(VariantCosine.cosine),
            col(made_for.text),
            notes,
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(Source, col(Source.id) == Anchor.source_id)
        .join(AnchorRevision, of_current_revision())
        .join(
            made_for,
            (col(made_for.anchor_id) == Variant.anchor_id)
            & (col(made_for.revision) == Variant.anchor_revision),
        )
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == Variant.id)
        .outerjoin(
            VariantCosine,
            (col(VariantCosine.variant_id) == Variant.id)
            & (col(VariantCosine.encoder_id) == encoder_id),
        )
    )


def _card(row: Row[*_CardRow]) -> Card:
    variant, anchor, genre, source, measured, cosine, made_for, notes = row
    return Card(
        variant=variant,
        anchor=anchor,
        genre=genre,
        source=source,
        levenshtein=measured.levenshtein if measured else None,
        length_ratio=measured.length_ratio if measured else None,
        content_kept=measured.content_kept if measured else None,
        flags=Flag(measured.flags) if measured else Flag(0),
        cosine=cosine,
        made_for=made_for,
        notes=notes,
    )


def card(session: Session, variant_id: int) -> Card:
    """The card of one variant; the variant must exist."""
    query = _card_query(session).where(col(Variant.id) == variant_id)
    return _card(session.execute(query).one())


def family(session: Session, anchor_id: int) -> list[Card]:
    """The cards of all variants of an anchor, in the taxonomy's order, superseded ones last."""
    query = (
        _card_query(session)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(col(Variant.anchor_id) == anchor_id)
        .order_by(col(Variant.status) == Status.SUPERSEDED, col(TypeRow.ordinal), col(Variant.id))
    )
    return [_card(row) for row in session.execute(query)]


# -- An anchor with all its variants and revisions, read in one transaction -----------------------


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
