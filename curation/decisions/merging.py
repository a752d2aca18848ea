"""Merge two people into one reviewer, and separate them again.

Decisions are never changed. A merged person's row points to the person they are now, and all
queries follow that pointer. Separating them therefore restores the earlier state. Both operations
update the statuses of variants in the same transaction.
"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks, compute_standing, refresh_status
from curation.formatting import counted
from db.errors import HedgerowError
from db.models import Decision, Reviewer, ReviewerKind, Status, Variant


class Merge(NamedTuple):
    """The effect of a merge.

    Attributes:
        shared: the number of variants that both decided on; the later of the two verdicts counts.
        statuses: (status before, status after) → number of variants whose status changes.
    """

    person: str
    into: str
    shared: int
    statuses: dict[tuple[Status, Status], int]

    def in_words(self) -> list[str]:
        """The effect in sentences."""
        lines = [f"All decisions and texts of {self.person} will count as {self.into}'s."]
        if self.shared:
            lines.append(
                f"Both have decided on {counted(self.shared, 'variant')}, where the later decision "
                "will count."
            )
        moves = sorted(self.statuses.items(), key=lambda item: -item[1])
        lines += [
            f"Variants that change from {old} to {new}: {count:,}." for (old, new), count in moves
        ]
        return lines if moves else [*lines, "No variant changes its status."]


def plan_merge(session: Session, person: Reviewer, into: Reviewer) -> Merge:
    """The effect of a merge. Changes nothing.

    Raises:
        HedgerowError: the two are already merged, or one of them is a model.
    """
    _check(person, into)
    ids = _shared(session, person, into)
    statuses: Counter[tuple[Status, Status]] = Counter()
    for some in chunks(ids):
        after = compute_standing(session, some, merged={person.id: into.id})
        query = select(col(Variant.id), col(Variant.status)).where(col(Variant.id).in_(some))
        for variant_id, status in session.execute(query):
            if after[variant_id].status is not status:
                statuses[(status, after[variant_id].status)] += 1
    return Merge(person.name, into.name, len(ids), dict(statuses))


def merge(session: Session, person: Reviewer, into: Reviewer) -> Merge:
    """Merge a person into another one.

    Raises:
        HedgerowError: as in ``plan_merge``.
    """
    done = plan_merge(session, person, into)
    followers = col(Reviewer.merged_into_id) == person.id
    ids = _shared(session, person, into) | _begun(session, person)
    session.execute(update(Reviewer).where(followers).values(merged_into_id=into.id))
    person.merged_into_id = into.id
    session.flush()
    refresh_status(session, ids)
    return done


def separate(session: Session, person: Reviewer) -> str:
    """Undo a merge: the decisions made under the person's own name are theirs again.

    Decisions made under the other name since then stay with that person.

    Returns:
        The name of the person they had been merged into.

    Raises:
        HedgerowError: they have not been merged.
    """
    if person.merged_into_id is None:
        raise HedgerowError(f"'{person.name}' has not been merged; there is nothing to separate.")
    into = session.get_one(Reviewer, person.merged_into_id)
    person.merged_into_id = None
    session.flush()
    refresh_status(session, _shared(session, person, into) | _begun(session, person))
    return into.name


def _check(person: Reviewer, into: Reviewer) -> None:
    for one in (person, into):
        if one.kind is not ReviewerKind.PERSON:
            raise HedgerowError(f"'{one.name}' is a model; only people can be merged.")
    if into.id in (person.id, person.merged_into_id):
        raise HedgerowError(f"'{person.name}' and '{into.name}' are already one reviewer.")
    for one in (person, into):
        if one.merged_into_id is not None:
            raise HedgerowError(
                f"'{one.name}' has been merged into another person; separate the two first."
            )


def _shared(session: Session, person: Reviewer, into: Reviewer) -> set[int]:
    """The variants that both have decided on, including decisions of people merged into them."""
    found: list[set[int]] = []
    for one in (person, into):
        ids = select(col(Reviewer.id)).where(
            (col(Reviewer.id) == one.id) | (col(Reviewer.merged_into_id) == one.id)
        )
        query = select(col(Decision.variant_id)).where(col(Decision.reviewer_id).in_(ids))
        found.append(set(session.execute(query.distinct()).scalars()))
    return found[0] & found[1]


def _begun(session: Session, person: Reviewer) -> set[int]:
    """The variants whose ``verdicts_by`` may name this person or somebody merged into them."""
    ids = select(col(Reviewer.id)).where(
        (col(Reviewer.id) == person.id) | (col(Reviewer.merged_into_id) == person.id)
    )
    query = (
        select(col(Variant.id))
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .where(col(Decision.reviewer_id).in_(ids), col(Variant.verdicts_by) != "")
    )
    return set(session.execute(query.distinct()).scalars())
