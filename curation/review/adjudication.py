"""Variants in conflict: what each person said about them, and how settled ones were settled."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.current_revision import of_current_revision
from curation.anchors.sources import is_bundled
from curation.review.decisions import chunks, counts_still
from curation.review.history import stands
from curation.review.people.reviewers import shown_name, whose
from curation.review.queue import Queue, in_queue
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Reviewer,
    ReviewerKind,
    Source,
    Variant,
    Verdict,
)

_Place = tuple[int, int, int, int]
"""Whether it is of a corpus, minus its dispute, minus its people, and its id."""


class ConflictOrder(StrEnum):
    """Which conflict comes first."""

    OLDEST = "oldest"
    DISPUTED = "most-disputed"


class Wording(NamedTuple):
    """The variant that an edit put in the other's place."""

    uid: str
    type_id: str
    text: str
    cue: str | None


class GivenVerdict(NamedTuple):
    """A decision on a variant that stands.

    Attributes:
        settles: it settled what others disagreed about.
        seconds: from the card's showing to the decision; None where no card was shown.
        wording: what an edit put in its place.
    """

    variant_id: int
    reviewer_id: int
    reviewer: str
    verdict: Verdict
    reason: str
    note: str
    settles: bool
    blind: bool
    decided_at: datetime
    seconds: float | None
    wording: Wording | None


class Conflict(NamedTuple):
    """A variant on which people disagree.

    Attributes:
        anchor: its anchor's current wording.
        dispute: how many people contradict the most frequent verdict.
        since: when the latest verdict came.
        verdicts: the latest one of each person, in the order of their first ones.
    """

    uid: str
    type_id: str
    source: str
    anchor: str
    text: str
    dispute: int
    since: datetime | None
    verdicts: tuple[GivenVerdict, ...]


class Settled(NamedTuple):
    """A conflict that was settled, with its trail.

    Attributes:
        settlement: what counts now, and who decided that.
        said: what each person had said before, the oldest first.
    """

    variant_id: int
    uid: str
    type_id: str
    anchor: str
    text: str
    settlement: GivenVerdict
    said: tuple[GivenVerdict, ...]


def verdicts_on(session: Session, variant_ids: Iterable[int]) -> dict[int, list[GivenVerdict]]:
    """The decisions of people on these variants that stand, settlements too, the oldest first."""
    found: dict[int, list[GivenVerdict]] = defaultdict(list)
    for ids in chunks(variant_ids):
        for given in _given(session, ids):
            found[given.variant_id].append(given)
    return found


def _given(session: Session, variant_ids: Collection[int]) -> Iterator[GivenVerdict]:
    child = aliased(Variant)
    query = (
        select(
            col(Decision.variant_id),
            whose(),
            shown_name(),
            col(Decision.verdict),
            col(Decision.reason),
            col(Decision.note),
            col(Decision.adjudicates),
            col(Decision.blind),
            col(Decision.decided_at),
            col(Decision.shown_at),
            col(child.uid),
            col(child.type_id),
            col(child.text),
            col(child.cue),
        )
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .outerjoin(child, col(child.id) == col(Decision.child_id))
        .where(
            col(Decision.variant_id).in_(variant_ids),
            col(Reviewer.kind) == ReviewerKind.PERSON,
            stands(),
            counts_still(),
        )
        .order_by(col(Decision.id))
    )
    for row in session.execute(query):
        variant_id, person, name, verdict, reason, note, settles, blind, at, shown_at, *made = row
        yield GivenVerdict(
            variant_id=variant_id,
            reviewer_id=person,
            reviewer=name,
            verdict=verdict,
            reason=reason,
            note=note,
            settles=settles,
            blind=blind,
            decided_at=at,
            seconds=None if shown_at is None else (at - shown_at).total_seconds(),
            wording=None if made[0] is None else Wording(*made),
        )


def latest_of_each(given: Iterable[GivenVerdict]) -> list[GivenVerdict]:
    """Each person's latest verdict that settled nothing, in the order of their first ones."""
    return list({one.reviewer_id: one for one in given if not one.settles}.values())


def wordings(given: Iterable[GivenVerdict]) -> list[Wording]:
    """The different wordings that people put in the variant's place, the oldest first."""
    found = {one.wording.uid: one.wording for one in given if one.wording is not None}
    return list(found.values())


def ranked(
    session: Session, *, type_ids: Sequence[str] | None = None, source_id: int | None = None
) -> list[int]:
    """The variants in conflict, those first on which most people contradict each other.

    Of as many, those with more verdicts, then the oldest. One's own anchors come before those of
    the corpora, as in every queue.
    """
    disputes = _disputes(session, type_ids=type_ids, source_id=source_id)
    query = _in_conflict(session, type_ids, source_id).add_columns(is_bundled(col(Source.name)))
    rows = session.execute(query.join(Source, col(Source.id) == col(Variant.source_id))).all()

    def place(row: tuple[int, int]) -> _Place:
        variant_id, bundled = row
        return _place(variant_id, bundled, disputes.get(variant_id, (0, 0)))

    return [variant_id for variant_id, _ in sorted(((row[0], row[1]) for row in rows), key=place)]


def _place(variant_id: int, bundled: int, dispute: tuple[int, int]) -> _Place:
    """What conflicts are ordered by, where the most disputed come first."""
    contradicting, people = dispute
    return bundled, -contradicting, -people, variant_id


def _in_conflict(
    session: Session, type_ids: Sequence[str] | None, source_id: int | None
) -> Select[int]:
    query = select(col(Variant.id)).where(in_queue(session, Queue.CONFLICT))
    if type_ids is not None:
        query = query.where(col(Variant.type_id).in_(type_ids))
    if source_id is not None:
        query = query.where(col(Variant.source_id) == source_id)
    return query


def _disputes(
    session: Session, *, type_ids: Sequence[str] | None, source_id: int | None
) -> Mapping[int, tuple[int, int]]:
    """By variant in conflict: how many contradict the most frequent verdict, and of how many."""
    ids = _in_conflict(session, type_ids, source_id)
    query = (
        select(col(Decision.variant_id), whose(), col(Decision.verdict), col(Decision.child_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(
            col(Decision.variant_id).in_(ids),
            col(Reviewer.kind) == ReviewerKind.PERSON,
            stands(),
            counts_still(),
        )
        .order_by(col(Decision.id))
    )
    latest: dict[int, dict[int, tuple[Verdict, int | None]]] = defaultdict(dict)
    for variant_id, person, verdict, child_id in session.execute(query):
        latest[variant_id][person] = (verdict, child_id)
    return {variant_id: _dispute(said.values()) for variant_id, said in latest.items()}


def _dispute(said: Iterable[tuple[Verdict, object]]) -> tuple[int, int]:
    numbers = Counter(said)
    people = numbers.total()
    return people - max(numbers.values(), default=0), people


def conflicts(
    session: Session,
    *,
    type_ids: Sequence[str] | None = None,
    source_id: int | None = None,
    order: ConflictOrder = ConflictOrder.OLDEST,
) -> list[Conflict]:
    """The variants in conflict with what each person said.

    Args:
        type_ids, source_id: only of these; None for all.
    """
    ids = list(session.execute(_in_conflict(session, type_ids, source_id)).scalars())
    said = verdicts_on(session, ids)
    found = {}
    for row in _texts(session, ids):
        given = latest_of_each(said.get(row.id, ()))
        dispute = _dispute((one.verdict, one.wording and one.wording.uid) for one in given)
        since = max((one.decided_at for one in given), default=None)
        found[_place(row.id, row.bundled, dispute)] = Conflict(
            row.uid, row.type_id, row.source, row.anchor, row.text, dispute[0], since, tuple(given)
        )
    by_age = itemgetter(-1) if order is ConflictOrder.OLDEST else None
    return [found[place] for place in sorted(found, key=by_age)]


class _Texts(NamedTuple):
    id: int
    uid: str
    type_id: str
    source: str
    anchor: str
    text: str
    bundled: int


def _texts(session: Session, variant_ids: Iterable[int]) -> Iterator[_Texts]:
    for ids in chunks(variant_ids):
        query = (
            select(
                col(Variant.id),
                col(Variant.uid),
                col(Variant.type_id),
                col(Source.name),
                col(AnchorRevision.text),
                col(Variant.text),
                is_bundled(col(Source.name)),
            )
            .join(Anchor, col(Anchor.id) == col(Variant.anchor_id))
            .join(AnchorRevision, of_current_revision())
            .join(Source, col(Source.id) == col(Variant.source_id))
            .where(col(Variant.id).in_(ids))
        )
        yield from (_Texts(*row) for row in session.execute(query))


def settled(
    session: Session,
    *,
    type_id: str | None = None,
    source_id: int | None = None,
    limit: int = 50,
) -> list[Settled]:
    """The conflicts that people have settled, the latest settlement first.

    Args:
        type_id, source_id: only of these; None for all.
    """
    query = (
        select(col(Decision.variant_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(
            col(Decision.adjudicates),
            col(Reviewer.kind) == ReviewerKind.PERSON,
            stands(),
            counts_still(),
        )
        .order_by(col(Decision.id).desc())
    )
    if type_id is not None:
        query = query.where(col(Variant.type_id) == type_id)
    if source_id is not None:
        query = query.where(col(Variant.source_id) == source_id)
    # A variant may have been settled more than once.
    ids = list(dict.fromkeys(session.execute(query.limit(2 * limit)).scalars()))[:limit]
    said = verdicts_on(session, ids)
    texts = {row.id: row for row in _texts(session, ids)}
    return [_settled(texts[variant_id], said[variant_id]) for variant_id in ids]


def _settled(row: _Texts, given: Sequence[GivenVerdict]) -> Settled:
    settlement = [one for one in given if one.settles][-1]
    said = tuple(one for one in given if one is not settlement)
    return Settled(row.id, row.uid, row.type_id, row.anchor, row.text, settlement, said)
