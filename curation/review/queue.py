"""Which variant comes next, and everything that its card shows.

Anchors of one's own come before those of the corpora that ship with Hedgerow, whatever the order.
An index over the variants of a type and a source serves every order of what is pending and of what
only models have accepted: the database looks up one row for each type and source. Conflicts and
second looks are few; those of a type are sorted.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    SQLColumnExpression,
    and_,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.current_revision import current_wording
from curation.anchors.sources import is_bundled
from curation.diagnostics.measures import Flag
from curation.project.opening import active_encoder_id
from curation.review.decisions import chunks, counts_still
from curation.review.history import stands
from curation.review.notes import is_kept
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Diagnostic,
    Note,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    TypeRow,
    Variant,
    VariantCosine,
)


class Queue(StrEnum):
    """What is to be reviewed; each can be narrowed to a type."""

    PENDING = "pending"
    CONFLICT = "conflict"
    MODEL_ONLY = "model-only"
    SECOND_LOOK = "second-look"


class Order(StrEnum):
    """The order of a queue."""

    OLDEST = "oldest"
    SUSPICIOUS = "suspicious"
    HARDEST = "hardest"
    RANDOM = "random"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True)
class Card:
    """A variant with what a reviewer needs to judge it.

    Attributes:
        anchor: the current wording of its anchor.
        levenshtein: distance to the anchor in characters; None before it is measured, as for
            length_ratio, content_kept and flags.
        cosine: similarity in [-1, 1] under the active encoder; None while it is pending.
        made_for: the anchor's wording when the variant was made.
        notes: how many notes it has.
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

    def stands_beside(self, focus: "Card") -> bool:
        """Whether it is shown beside a card of its family: no replaced wording, and nothing out of
        use where that card is in use."""
        variant = self.variant
        is_seen = not variant.retired or focus.variant.retired
        return variant.id != focus.variant.id and variant.status != Status.SUPERSEDED and is_seen


def _in_queue(session: Session, queue: Queue) -> ColumnElement[bool]:
    """SQL: the variant is in this queue, whatever its type.

    Written out, not bound, and as the indexes are: a partial index serves only a query that is
    seen to ask for its rows.
    """
    in_use = col(Variant.retired).is_(False)
    if queue in (Queue.PENDING, Queue.CONFLICT):
        return and_(col(Variant.status) == literal_column(f"'{queue.value}'"), in_use)
    marked = col(Variant.model_only if queue is Queue.MODEL_ONLY else Variant.second_look)
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    return and_(marked.is_(True) if is_postgresql else marked.is_not(False), in_use)


def _keys(order: Order) -> tuple[ColumnElement[Any], ...]:
    newest_last = col(Variant.id).asc()
    if order is Order.SUSPICIOUS:
        return col(Variant.suspicion).desc(), col(Variant.id).desc()
    if order is Order.HARDEST:
        return col(Variant.hardness).desc(), col(Variant.id).desc()
    if order is Order.DOUBTFUL:
        return col(Variant.doubt).desc(), col(Variant.id).desc()
    if order is Order.RANDOM:
        return col(Variant.random_key).asc(), newest_last
    return (newest_last,)


def next_variant(
    session: Session,
    *,
    type_ids: Sequence[str],
    queue: Queue = Queue.PENDING,
    order: Order = Order.OLDEST,
    source_id: int | None = None,
    skipped: Collection[int] = (),
) -> Variant | None:
    """The first variant of the queue, or None when it is empty.

    Args:
        type_ids: the types to review.
        source_id: the source to review; None for all, those that are no corpus first.
        skipped: ids of variants to pass over.
    """
    kind, source = aliased(TypeRow), aliased(Source)
    head = _head(session, queue, order, kind=col(kind.id), source=col(source.id))
    if skipped:
        head = head.where(col(Variant.id).not_in(list(skipped)))
    heads = (
        select(
            head.correlate(kind, source).scalar_subquery().label("id"),
            is_bundled(col(source.name)).label("is_bundled"),
        )
        .select_from(kind)
        .join(source, true() if source_id is None else col(source.id) == source_id)
        .where(col(kind.id).in_(type_ids))
        .subquery()
    )
    query = select(Variant).join(heads, heads.c.id == Variant.id)
    return session.execute(query.order_by(heads.c.is_bundled, *_keys(order)).limit(1)).scalar()


def _head(
    session: Session,
    queue: Queue,
    order: Order,
    *,
    kind: SQLColumnExpression[str],
    source: SQLColumnExpression[int],
) -> Select[int]:
    """The id of the first variant of a type and a source."""
    query = select(col(Variant.id)).where(
        _in_queue(session, queue), col(Variant.type_id) == kind, col(Variant.source_id) == source
    )
    return query.order_by(*_keys(order)).limit(1)


def count_left(session: Session, queue: Queue) -> dict[tuple[str, int], int]:
    """Variants in a queue by type and source; a pair without any may be missing."""
    by = (col(Variant.type_id), col(Variant.source_id))
    query = select(*by, func.count()).where(_in_queue(session, queue)).group_by(*by)
    return {(type_id, source_id): number for type_id, source_id, number in session.execute(query)}


def among(
    session: Session,
    variant_ids: Iterable[int],
    queue: Queue,
    *,
    type_ids: Sequence[str] | None = None,
    source_id: int | None = None,
) -> set[int]:
    """Which of these variants are in a queue, of these types and this source or of any."""
    found: set[int] = set()
    for ids in chunks(variant_ids):
        query = select(col(Variant.id)).where(col(Variant.id).in_(ids), _in_queue(session, queue))
        if type_ids is not None:
            query = query.where(col(Variant.type_id).in_(type_ids))
        if source_id is not None:
            query = query.where(col(Variant.source_id) == source_id)
        found.update(session.execute(query).scalars())
    return found


def awaiting_a_person(session: Session, variant_ids: Iterable[int]) -> set[int]:
    """Which of these variants a person has to decide on.

    Pending ones, those in conflict, and those that only models have decided; not the retired or
    superseded ones.
    """
    by_a_person = (
        select(col(Decision.id))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(
            col(Decision.variant_id) == Variant.id,
            col(Reviewer.kind) == ReviewerKind.PERSON,
            stands(),
            counts_still(),
        )
        .exists()
    )
    found: set[int] = set()
    for ids in chunks(variant_ids):
        query = select(col(Variant.id)).where(
            col(Variant.id).in_(ids),
            col(Variant.retired).is_(False),
            col(Variant.status) != Status.SUPERSEDED,
            or_(col(Variant.status).in_([Status.PENDING, Status.CONFLICT]), ~by_a_person),
        )
        found.update(session.execute(query).scalars())
    return found


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
        .join(AnchorRevision, current_wording())
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
    """The cards of all variants of an anchor, in the taxonomy's order; replaced wordings last."""
    query = (
        _card_query(session)
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .where(col(Variant.anchor_id) == anchor_id)
        .order_by(col(Variant.status) == Status.SUPERSEDED, col(TypeRow.ordinal), col(Variant.id))
    )
    return [_card(row) for row in session.execute(query)]


def status_counts(session: Session, source_id: int | None = None) -> dict[str, dict[Status, int]]:
    """Variants per type and status, of one source or of all; retired ones left out."""
    query = (
        select(col(Variant.type_id), col(Variant.status), func.count())
        .where(col(Variant.retired).is_(False))
        .group_by(Variant.type_id, Variant.status)
    )
    if source_id is not None:
        query = query.where(col(Variant.source_id) == source_id)
    counts: dict[str, dict[Status, int]] = {}
    for type_id, status, number in session.execute(query):
        counts.setdefault(type_id, dict.fromkeys(Status, 0))[status] = number
    return counts
