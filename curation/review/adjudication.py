"""Conflicts: the variants in conflict with each person's verdict, settling them, and settled ones.

A conflict is settled with a decision that outranks the verdicts that contradict each other. It is
stored as an adjudication (see ``curation.decisions.status``). Until it is undone, other decisions
on the variant change nothing, so a later decision on a settled variant must settle it again.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.anchors.revisions import is_bundled, of_current_revision
from curation.decisions.history import is_settlement, not_retracted
from curation.decisions.reviewers import person_id_now, shown_name
from curation.decisions.shown_card import ShownCard, find_variant, shown
from curation.decisions.storing import chunks, counts_still, rows_with
from curation.review.gold.items import gold_items
from curation.review.queue import Queue, in_queue
from db.columns import limited_to
from db.errors import HedgerowError
from db.models import (
    Anchor,
    AnchorRevision,
    Decision,
    Reviewer,
    ReviewerKind,
    Source,
    Status,
    Variant,
    Verdict,
)

_SortKey = tuple[int, int, int, int]
"""Whether the variant is from a bundled corpus, minus its dispute, minus its people, and its id."""


class ConflictOrder(StrEnum):
    """The order of conflicts."""

    OLDEST = "oldest"
    DISPUTED = "most-disputed"


class Wording(NamedTuple):
    """The variant that replaces another one after an edit."""

    uid: str
    type_id: str
    text: str
    cue: str | None


class GivenVerdict(NamedTuple):
    """A person's decision on a variant that has not been undone.

    Attributes:
        settles: it settled a conflict.
        seconds: time from showing the card to the decision; None if no card was shown.
        wording: the replacement that an edit made.
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
        anchor: the current text of its anchor.
        dispute: the number of people who contradict the most frequent verdict.
        since: time of the latest verdict.
        verdicts: each person's latest verdict, in the order of their first ones.
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
    """A settled conflict.

    Attributes:
        settlement: the decision that counts now.
        verdicts: each person's earlier verdicts, oldest first.
    """

    variant_id: int
    uid: str
    type_id: str
    anchor: str
    text: str
    settlement: GivenVerdict
    verdicts: tuple[GivenVerdict, ...]


def verdicts_on(session: Session, variant_ids: Iterable[int]) -> dict[int, list[GivenVerdict]]:
    """People's decisions on these variants that count, including settlements, oldest first."""
    return _by_variant(given for ids in chunks(variant_ids) for given in _given(session, ids))


def _by_variant(verdicts: Iterable[GivenVerdict]) -> dict[int, list[GivenVerdict]]:
    found: dict[int, list[GivenVerdict]] = defaultdict(list)
    for given in verdicts:
        found[given.variant_id].append(given)
    return found


def _given(session: Session, variant_ids: Collection[int] | Select[int]) -> Iterator[GivenVerdict]:
    child = aliased(Variant)
    query = (
        select(
            col(Decision.variant_id),
            person_id_now(),
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
            not_retracted(),
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
    """Each person's latest verdict other than settlements, in the order of their first ones."""
    return list({one.reviewer_id: one for one in given if not one.settles}.values())


def wordings(given: Iterable[GivenVerdict]) -> list[Wording]:
    """The different replacements that people's edits made, oldest first."""
    found = {one.wording.uid: one.wording for one in given if one.wording is not None}
    return list(found.values())


def ranked(
    session: Session, *, type_ids: Sequence[str] | None = None, source_id: int | None = None
) -> list[int]:
    """The ids of the variants in conflict, most disputed first.

    Ties are broken by the number of verdicts, then by age. As in every queue, the user's own
    anchors come before those of bundled corpora.
    """
    wanted = _in_conflict(session, type_ids, source_id)
    verdicts = _by_variant(_given(session, wanted))
    query = wanted.add_columns(is_bundled(col(Source.name)))
    rows = session.execute(query.join(Source, col(Source.id) == col(Variant.source_id))).all()
    keys = (
        _sort_key(variant_id, bundled, _dispute(latest_of_each(verdicts.get(variant_id, ()))))
        for variant_id, bundled in rows
    )
    return [variant_id for *_, variant_id in sorted(keys)]


def _sort_key(variant_id: int, bundled: int, dispute: tuple[int, int]) -> _SortKey:
    """The key that sorts conflicts with the most disputed first."""
    contradicting, people = dispute
    return bundled, -contradicting, -people, variant_id


def _in_conflict(
    session: Session, type_ids: Sequence[str] | None, source_id: int | None
) -> Select[int]:
    return select(col(Variant.id)).where(
        in_queue(session, Queue.CONFLICT),
        limited_to(col(Variant.type_id), type_ids),
        limited_to(col(Variant.source_id), source_id),
    )


def _dispute(verdicts: Iterable[GivenVerdict]) -> tuple[int, int]:
    """How many people contradict the most frequent verdict, of how many."""
    numbers = Counter((one.verdict, one.wording and one.wording.uid) for one in verdicts)
    people = numbers.total()
    return people - max(numbers.values(), default=0), people


def conflicts(
    session: Session,
    *,
    type_ids: Sequence[str] | None = None,
    source_id: int | None = None,
    order: ConflictOrder = ConflictOrder.OLDEST,
) -> list[Conflict]:
    """The variants in conflict with each person's verdict.

    Args:
        type_ids, source_id: only these types and this source; None for all.
    """
    wanted = _in_conflict(session, type_ids, source_id)
    verdicts = _by_variant(_given(session, wanted))
    found = {}
    for row in _texts(session, wanted):
        given = latest_of_each(verdicts.get(row.id, ()))
        dispute = _dispute(given)
        since = max((one.decided_at for one in given), default=None)
        found[_sort_key(row.id, row.bundled, dispute)] = Conflict(
            row.uid, row.type_id, row.source, row.anchor, row.text, dispute[0], since, tuple(given)
        )
    by_age = itemgetter(-1) if order is ConflictOrder.OLDEST else None
    return [found[key] for key in sorted(found, key=by_age)]


class _Texts(NamedTuple):
    id: int
    uid: str
    type_id: str
    source: str
    anchor: str
    text: str
    bundled: int


def _texts(session: Session, variant_ids: Collection[int] | Select[int]) -> Iterator[_Texts]:
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
        .where(col(Variant.id).in_(variant_ids))
    )
    return (_Texts(*row) for row in session.execute(query))


def settled(
    session: Session,
    *,
    type_id: str | None = None,
    source_id: int | None = None,
    limit: int = 50,
) -> list[Settled]:
    """The conflicts that people have settled, latest settlement first.

    Args:
        type_id, source_id: only this type and this source; None for all.
    """
    query = (
        select(col(Decision.variant_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(
            is_settlement(),
            limited_to(col(Variant.type_id), type_id),
            limited_to(col(Variant.source_id), source_id),
        )
        .order_by(col(Decision.id).desc())
    )
    # A variant may have been settled more than once.
    ids = list(dict.fromkeys(session.execute(query.limit(2 * limit)).scalars()))[:limit]
    verdicts = verdicts_on(session, ids)
    texts = {row.id: row for row in _texts(session, ids)}
    return [_settled(texts[variant_id], verdicts[variant_id]) for variant_id in ids]


def _settled(row: _Texts, given: Sequence[GivenVerdict]) -> Settled:
    settlement = [one for one in given if one.settles][-1]
    rest = tuple(one for one in given if one is not settlement)
    return Settled(row.id, row.uid, row.type_id, row.anchor, row.text, settlement, rest)


def contested(session: Session, variants: Iterable[Variant]) -> frozenset[int]:
    """The ids of the variants that are in conflict or whose conflict has been settled.

    Variants on which assigned people still have to decide are left out.
    """
    variants = [variant for variant in variants if not variant.verdicts_by]
    found = {variant.id for variant in variants if variant.status == Status.CONFLICT}
    # No person has decided on pending variants and on those accepted only by models.
    decided = [
        variant.id
        for variant in variants
        if variant.status not in (Status.PENDING, Status.CONFLICT) and not variant.model_only
    ]
    query = (
        select(col(Decision.variant_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(is_settlement())
    )
    settlements = rows_with(session, query, col(Decision.variant_id), decided)
    return frozenset(found | {variant_id for (variant_id,) in settlements})


def shown_to_settle(session: Session, uid: str) -> ShownCard:
    """A showing of the variant with this uid, for a decision that settles it.

    Raises:
        HedgerowError: there is no such variant, it is not in conflict, or it is a gold item.
    """
    variant = find_variant(session, uid)
    if variant.verdicts_by:
        raise HedgerowError(
            f"Not everybody assigned to {uid} has decided yet; wait for them, or change the "
            "assignment with 'hedgerow review assign'."
        )
    if gold_items(session, of=[variant.id]):
        raise HedgerowError(
            f"{uid} is a gold item, which settles it; to settle it differently, remove it with "
            f"'hedgerow review gold remove {uid}'."
        )
    if not contested(session, [variant]):
        raise HedgerowError(
            f"Expected a variant in conflict, found {uid}, which is {variant.status}; accept or "
            "reject it instead."
        )
    return shown(variant, settles=True)
