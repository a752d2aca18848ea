"""Which variant comes next, and everything that its card shows.

Every order is served by an index over the pending variants of a type: the database is asked for one
row.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, literal_column, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from curation.decisions import chunks
from curation.measures import Flag
from curation.project import active_encoder_id
from curation.wording import current_wording
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Diagnostic,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    TypeRow,
    Variant,
    VariantCosine,
    Verdict,
)


class Order(StrEnum):
    """The order of a queue."""

    OLDEST = "oldest"
    SUSPICIOUS = "suspicious"
    HARDEST = "hardest"
    RANDOM = "random"


@dataclass(frozen=True)
class Card:
    """A variant with what a reviewer needs to judge it.

    Attributes:
        anchor: the current wording of its anchor.
        levenshtein: distance to the anchor in characters; None before it is measured, as for
            length_ratio, content_kept and flags.
        cosine: similarity in [-1, 1] under the active encoder; None while it is pending.
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


# Written out, not bound: a partial index serves only a query that is seen to ask for its rows.
_PENDING = and_(col(Variant.status) == literal_column("'pending'"), col(Variant.retired).is_(False))


def _keys(order: Order) -> tuple[ColumnElement[Any], ...]:
    newest_last = col(Variant.id).asc()
    if order is Order.SUSPICIOUS:
        return col(Variant.suspicion).desc(), col(Variant.id).desc()
    if order is Order.HARDEST:
        return col(Variant.hardness).desc(), col(Variant.id).desc()
    if order is Order.RANDOM:
        return col(Variant.random_key).asc(), newest_last
    return (newest_last,)


def _sort_key(variant: Variant, order: Order) -> tuple[float, int]:
    """Ascending over variants as ``_keys`` orders them, for merging the heads of several queues."""
    number = variant.id or 0
    return {
        Order.OLDEST: (0.0, number),
        Order.SUSPICIOUS: (-variant.suspicion, -number),
        Order.HARDEST: (-variant.hardness, -number),
        Order.RANDOM: (variant.random_key, number),
    }[order]


def next_variant(
    session: Session,
    *,
    type_ids: Sequence[str],
    order: Order = Order.OLDEST,
    skipped: Collection[int] = (),
) -> Variant | None:
    """The first pending variant of the queue, or None when it is empty.

    Args:
        type_ids: the types to review; the queue of several is merged from theirs.
        skipped: ids of variants to pass over.
    """
    heads: list[Variant] = []
    for type_id in type_ids:
        query = select(Variant).where(_PENDING, col(Variant.type_id) == type_id)
        if skipped:
            query = query.where(col(Variant.id).not_in(list(skipped)))
        head = session.execute(query.order_by(*_keys(order)).limit(1)).scalar()
        if head is not None:
            heads.append(head)
    return min(heads, key=lambda variant: _sort_key(variant, order), default=None)


def awaiting_a_person(session: Session, variant_ids: Iterable[int]) -> set[int]:
    """Which of these variants no person's verdict stands on.

    Pending ones, and those that only models have decided; not the retired or superseded ones.
    """
    retract = aliased(Decision)
    taken_back = select(retract.id).where(col(retract.retracts_id) == Decision.id).exists()  # type: ignore[call-overload]
    by_a_person = (
        select(Decision.id)  # type: ignore[call-overload]
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(
            col(Decision.variant_id) == Variant.id,
            col(Reviewer.kind) == ReviewerKind.PERSON,
            col(Decision.verdict) != Verdict.RETRACT,
            ~taken_back,
        )
        .exists()
    )
    found: set[int] = set()
    for ids in chunks(variant_ids):
        query = select(Variant.id).where(  # type: ignore[call-overload]
            col(Variant.id).in_(ids),
            col(Variant.retired).is_(False),
            col(Variant.status) != Status.SUPERSEDED,
            or_(col(Variant.status) == Status.PENDING, ~by_a_person),
        )
        found.update(session.execute(query).scalars())
    return found


def _card_query(session: Session) -> Select[Any]:
    encoder_id = active_encoder_id(session)
    return (
        select(  # type: ignore[call-overload]
            Variant, AnchorRevision.text, Anchor.genre, Source.name, Diagnostic,
            VariantCosine.cosine,
        )
        .join(Anchor, col(Anchor.id) == Variant.anchor_id)
        .join(Source, col(Source.id) == Anchor.source_id)
        .join(AnchorRevision, current_wording())
        .outerjoin(Diagnostic, col(Diagnostic.variant_id) == Variant.id)
        .outerjoin(
            VariantCosine,
            (col(VariantCosine.variant_id) == Variant.id)
            & (col(VariantCosine.encoder_id) == encoder_id),
        )
    )  # fmt: skip


def _card(row: Row[Any]) -> Card:
    variant, anchor, genre, source, measured, cosine = tuple(row)
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
    )


def card(session: Session, variant_id: int) -> Card:
    """The card of one variant; the variant must exist."""
    query = _card_query(session).where(col(Variant.id) == variant_id)
    return _card(session.execute(query).one())


def family(session: Session, anchor_id: int) -> list[Card]:
    """The cards of all variants of an anchor, in the taxonomy's order; replaced wordings last."""
    query = (
        _card_query(session)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(col(Variant.anchor_id) == anchor_id)
        .order_by(col(Variant.status) == Status.SUPERSEDED, col(TypeRow.ordinal), col(Variant.id))
    )
    return [_card(row) for row in session.execute(query)]


@dataclass(frozen=True)
class PastDecision:
    """A decision as the history of a variant shows it."""

    reviewer: str
    verdict: Verdict
    reason: str
    note: str
    decided_at: datetime
    retracted: bool


def history(session: Session, variant_id: int) -> list[PastDecision]:
    """All decisions on a variant, the oldest first; retracts are told on what they retract."""
    rows = session.execute(
        select(Decision, Reviewer.name)  # type: ignore[call-overload]
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(col(Decision.variant_id) == variant_id)
        .order_by(col(Decision.id))
    ).all()
    retracted = {decision.retracts_id for decision, _ in rows}
    return [
        PastDecision(
            reviewer=name,
            verdict=decision.verdict,
            reason=decision.reason,
            note=decision.note,
            decided_at=decision.decided_at,
            retracted=decision.id in retracted,
        )
        for decision, name in rows
        if decision.verdict != Verdict.RETRACT
    ]


def status_counts(session: Session) -> dict[str, dict[Status, int]]:
    """Variants per type and status, retired ones left out."""
    rows = session.execute(
        select(Variant.type_id, Variant.status, func.count())  # type: ignore[call-overload]
        .where(col(Variant.retired).is_(False))
        .group_by(Variant.type_id, Variant.status)
    )
    counts: dict[str, dict[Status, int]] = {}
    for type_id, status, number in rows:
        counts.setdefault(type_id, dict.fromkeys(Status, 0))[status] = number
    return counts
