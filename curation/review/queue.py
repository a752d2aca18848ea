"""Queues: which variant comes next.

A person's pending variants include those that others have decided on and that the assignment also
gives to this person. They come in the same order as if they were undecided, so that their position
reveals nothing about the other verdicts.

In every order, the user's own anchors come before those of the corpora that ship with Hedgerow. For
pending variants and those accepted only by models, an index over the variants of a type and a
source serves every order: the database looks up one row for each type and source. Conflicts and
second looks are few, so they are sorted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    Select,
    SQLColumnExpression,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import is_bundled
from curation.decisions.assignment import (
    any_begun,
    count_begun,
    groups,
    is_begun,
    lacks,
    unfinished,
)
from curation.decisions.history import not_retracted
from curation.decisions.storing import counts_still, rows_with
from db.columns import limited_to
from db.models import (
    Decision,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    TypeRow,
    Variant,
)


class Queue(StrEnum):
    """The queues. Each can be limited to a type and a source."""

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


def in_queue(session: Session, queue: Queue) -> ColumnElement[bool]:
    """SQL: the variant is in this queue. It is in the queue of conflicts only after everybody
    assigned to it has decided.

    The conditions use literals rather than parameters and match those of the indexes, because a
    database uses a partial index only if the query shows that it needs no other rows.
    """
    return _is_in(session.get_bind().dialect.name, queue)


def _is_in(dialect: str, queue: Queue) -> ColumnElement[bool]:
    in_use = col(Variant.retired).is_(False)
    if queue in (Queue.PENDING, Queue.CONFLICT):
        there = and_(col(Variant.status) == literal_column(f"'{queue.value}'"), in_use)
        return and_(there, ~unfinished()) if queue is Queue.CONFLICT else there
    marked = col(Variant.model_only if queue is Queue.MODEL_ONLY else Variant.second_look)
    return and_(marked.is_(True) if dialect == "postgresql" else marked.is_not(False), in_use)


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
    reviewer_id: int | None = None,
) -> Variant | None:
    """The first variant of the queue, or None if it is empty.

    Args:
        type_ids: the types to review.
        source_id: the source to review; None for all, with bundled corpora last.
        skipped: ids of variants to skip.
        reviewer_id: the reviewer; None for only the variants on which nobody has decided.
    """
    for_a_person = queue is Queue.PENDING and reviewer_id is not None
    query = _first(
        session.get_bind().dialect.name,
        queue,
        order,
        of_source=source_id is not None,
        with_begun=for_a_person and any_begun(session),
    )
    asked = {
        "types": list(type_ids),
        "source": source_id,
        "skipped": list(skipped) or [0],
        "reviewer": reviewer_id,
    }
    return session.execute(query, asked).scalar()


@cache
def _first(
    dialect: str, queue: Queue, order: Order, *, of_source: bool, with_begun: bool
) -> Select[Variant]:
    """SQL: the first variant of a queue, with the parameters ``types``, ``source``, ``skipped`` and
    ``reviewer``. Built once, like the statements in ``leases``.

    Args:
        of_source: limit it to one source.
        with_begun: include variants that others have decided on and that the assignment also gives
            to the reviewer.
    """
    kind, source = aliased(TypeRow), aliased(Source)
    own_source = col(source.id) == bindparam("source", type_=Integer) if of_source else true()

    def first(ids: Select[int], *of: Any) -> Select[Any]:
        """The first variant of each type and source."""
        ids = ids.where(col(Variant.id).not_in(bindparam("skipped", expanding=True)))
        return (
            select(
                ids.correlate(kind, source, *of).scalar_subquery().label("id"),
                is_bundled(col(source.name)).label("is_bundled"),
            )
            .select_from(kind)
            .join(source, own_source)
            .where(col(kind.id).in_(bindparam("types", expanding=True)))
        )

    its_type, its_source = col(kind.id), col(source.id)
    undecided = _head(dialect, queue, order, kind=its_type, source=its_source)
    all_heads: Select[Any] | CompoundSelect[Any] = first(undecided)
    if with_begun:
        people = groups(bindparam("reviewer", type_=Integer))
        begun = _begun_head(order, kind=its_type, source=its_source, people=people.c.people)
        all_heads = union_all(all_heads, first(begun, people).join(people, true()))
    heads = all_heads.subquery()
    query = select(Variant).join(heads, heads.c.id == Variant.id)
    return query.order_by(heads.c.is_bundled, *_keys(order)).limit(1)


def _head(
    dialect: str,
    queue: Queue,
    order: Order,
    *,
    kind: SQLColumnExpression[str],
    source: SQLColumnExpression[int],
) -> Select[int]:
    """The id of the first variant of a type and a source."""
    query = select(col(Variant.id)).where(
        _is_in(dialect, queue), col(Variant.type_id) == kind, col(Variant.source_id) == source
    )
    return query.order_by(*_keys(order)).limit(1)


def _begun_head(
    order: Order,
    *,
    kind: SQLColumnExpression[str],
    source: SQLColumnExpression[int],
    people: SQLColumnExpression[str],
) -> Select[int]:
    """The same for variants on which these people have decided and others still have to."""
    query = select(col(Variant.id)).where(
        is_begun(),
        col(Variant.verdicts_by) == people,
        col(Variant.type_id) == kind,
        col(Variant.source_id) == source,
    )
    return query.order_by(*_keys(order)).limit(1)


def count_left(
    session: Session, queue: Queue, reviewer_id: int | None = None
) -> dict[tuple[str, int], int]:
    """The number of variants in a queue by type and source. Pairs without any may be missing.

    Args:
        reviewer_id: as in ``next_variant``.
    """
    by = (col(Variant.type_id), col(Variant.source_id))
    query = select(*by, func.count()).where(in_queue(session, queue)).group_by(*by)
    found = Counter(
        {(type_id, source): number for type_id, source, number in session.execute(query)}
    )
    if queue is Queue.PENDING and reviewer_id is not None:
        found.update(count_begun(session, reviewer_id))
    return dict(found)


def among(
    session: Session,
    variant_ids: Iterable[int],
    queue: Queue,
    *,
    type_ids: Sequence[str] | None = None,
    source_id: int | None = None,
    reviewer_id: int | None = None,
) -> set[int]:
    """Which of these variants are in a queue, optionally limited to types and a source.

    Args:
        reviewer_id: as in ``next_variant``.
    """
    there = in_queue(session, queue)
    if queue is Queue.PENDING and reviewer_id is not None:
        there = or_(there, and_(is_begun(), lacks(col(Variant.verdicts_by), reviewer_id)))
    query = select(col(Variant.id)).where(
        there,
        limited_to(col(Variant.type_id), type_ids),
        limited_to(col(Variant.source_id), source_id),
    )
    return {found for (found,) in rows_with(session, query, col(Variant.id), variant_ids)}


def decided_by_a_person() -> ColumnElement[bool]:
    """SQL, over ``Variant``: a person's verdict on it counts, for the anchor's current text."""
    return (
        select(col(Decision.id))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(
            col(Decision.variant_id) == Variant.id,
            col(Reviewer.kind) == ReviewerKind.PERSON,
            not_retracted(),
            counts_still(),
        )
        .exists()
    )


def awaiting_a_person(session: Session, variant_ids: Iterable[int]) -> set[int]:
    """Which of these variants still need a person's decision.

    These are pending variants, conflicts after everybody assigned has decided, and variants that
    only models have decided on. Retired and superseded variants are left out.
    """
    query = select(col(Variant.id)).where(
        col(Variant.retired).is_(False),
        col(Variant.status) != Status.SUPERSEDED,
        or_(
            col(Variant.status) == Status.PENDING,
            and_(col(Variant.status) == Status.CONFLICT, ~unfinished()),
            ~decided_by_a_person(),
        ),
    )
    return {found for (found,) in rows_with(session, query, col(Variant.id), variant_ids)}


def status_counts(session: Session, source_id: int | None = None) -> dict[str, dict[Status, int]]:
    """The number of variants per type and status, in one source or all, without retired ones."""
    query = (
        select(col(Variant.type_id), col(Variant.status), func.count())
        .where(col(Variant.retired).is_(False), limited_to(col(Variant.source_id), source_id))
        .group_by(Variant.type_id, Variant.status)
    )
    counts: dict[str, dict[Status, int]] = {}
    for type_id, status, number in session.execute(query):
        counts.setdefault(type_id, dict.fromkeys(Status, 0))[status] = number
    return counts
