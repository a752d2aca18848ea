"""Storing decisions and keeping each variant's status equal to what they add up to."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert, select, update
from sqlmodel import Session, col

from curation.status import Vote, status_of
from db.models import Decision, Reviewer, ReviewerKind, Status, Variant

CHUNK = 500
"""Ids handed to one query; SQLite takes at most 32,766 parameters in a statement."""


class StatusChange(NamedTuple):
    """A variant whose kept status was brought up to date; ``before`` is None for a new one."""

    variant_id: int
    type_id: str
    before: Status | None
    after: Status


def chunks(ids: Iterable[int], size: int = CHUNK) -> Iterable[list[int]]:
    """The distinct ids in order, ``size`` at a time."""
    ordered = sorted(set(ids))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def store_decisions(session: Session, decisions: Sequence[Decision]) -> list[StatusChange]:
    """Store the decisions of one action and bring the status of all they touch up to date.

    Touched are the decided variants and the children that edits made.
    """
    session.add_all(decisions)
    session.flush()
    touched = {decision.variant_id for decision in decisions}
    touched |= {decision.child_id for decision in decisions if decision.child_id is not None}
    return refresh_status(session, touched)


def bulk_store_decisions(session: Session, rows: Sequence[dict[str, Any]]) -> list[StatusChange]:
    """As ``store_decisions``, for rows in the thousands, given as dictionaries of columns."""
    if not rows:
        return []
    session.execute(insert(Decision), list(rows))
    touched = {row["variant_id"] for row in rows}
    touched |= {row["child_id"] for row in rows if row.get("child_id") is not None}
    return refresh_status(session, touched)


def refresh_status(session: Session, variant_ids: Iterable[int]) -> list[StatusChange]:
    """Recompute the status of these variants from their decisions; their version grows by one."""
    changes: list[StatusChange] = []
    for ids in chunks(variant_ids):
        variants = session.execute(
            select(Variant.id, Variant.type_id, Variant.status, Variant.parent_id).where(  # type: ignore[call-overload]
                col(Variant.id).in_(ids)
            )
        ).all()
        statuses = compute_status(
            session, {variant_id: parent_id for variant_id, _, _, parent_id in variants}
        )
        for variant_id, type_id, before, _ in variants:
            changes.append(StatusChange(variant_id, type_id, before, statuses[variant_id]))
        session.connection().execute(
            update(Variant)
            .where(col(Variant.id) == bindparam("variant"))
            .values(status=bindparam("new_status"), version=Variant.version + 1),
            [{"variant": key, "new_status": value} for key, value in statuses.items()],
        )
    # What the session holds of these rows was changed past it.
    for row in list(session.identity_map.values()):
        if isinstance(row, Variant):
            session.expire(row, ["status", "version"])
    return changes


def compute_status(session: Session, parents: dict[int, int | None]) -> dict[int, Status]:
    """The status that the stored decisions give each variant.

    Args:
        parents: variant id → id of the variant it was edited from, None for an original.
    """
    own = _votes(session, col(Decision.variant_id).in_(list(parents)))
    children = [variant_id for variant_id, parent in parents.items() if parent is not None]
    births: dict[int, list[Vote]] = defaultdict(list)
    if children:
        edits = _votes(session, col(Decision.child_id).in_(children))
        edit_votes = [vote for votes in edits.values() for vote in votes]
        retracts = _votes(session, col(Decision.retracts_id).in_([v.id for v in edit_votes]))
        retracted = {v.retracts_id: v for votes in retracts.values() for v in votes}
        for vote in edit_votes:
            assert vote.child_id is not None
            births[vote.child_id].append(vote)
            if vote.id in retracted:
                births[vote.child_id].append(retracted[vote.id])
    return {
        variant_id: status_of(own.get(variant_id, ()), births=births.get(variant_id, ()))
        for variant_id in parents
    }


def _votes(session: Session, condition: Any) -> dict[int, list[Vote]]:
    query = (
        select(
            col(Decision.variant_id), col(Decision.id), col(Decision.reviewer_id),
            col(Decision.verdict), col(Reviewer.kind), col(Reviewer.counts),
            col(Decision.adjudicates), col(Decision.child_id), col(Decision.retracts_id),
        )
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(condition)
        .order_by(col(Decision.id))
    )  # fmt: skip
    votes: dict[int, list[Vote]] = defaultdict(list)
    for variant_id, number, reviewer_id, verdict, kind, *rest in session.execute(query):
        is_person = kind == ReviewerKind.PERSON
        votes[variant_id].append(Vote(number or 0, reviewer_id, verdict, is_person, *rest))
    return votes
