"""Changes to people, who are identified by id: add, rename, merge and separate them.

Decisions are never changed. A merged person's row points to the person they are now, and all
queries follow that pointer. Separating them therefore restores the earlier state. Both operations
then update the statuses of variants in pieces.
"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.reviewers import ensure_reviewer, is_person, person_id_now
from curation.decisions.roles import lead_ids, require, set_role
from curation.decisions.storing import chunks, compute_standing
from curation.decisions.unfinished import mark, refresh_in_pieces
from curation.formatting import counted
from db.engine import reading, writing
from db.errors import HedgerowError
from db.models import Decision, Reviewer, ReviewerKind, Status, TeamRole, Variant


def add(session: Session, name: str, role: TeamRole) -> str:
    """Add a person before they begin, for example to give them a quota.

    Returns:
        Their name as it is stored.

    Raises:
        HedgerowError: there is such a person, the name is not usable, or there is no lead yet and
            they would not be one.
    """
    if is_person(session, name):
        raise HedgerowError(f"The person '{name}' already exists; change their role instead.")
    if role is not TeamRole.LEAD and not lead_ids(session):
        raise HedgerowError(f"There is no lead yet; add '{name}' as a lead, or add a lead first.")
    return set_role(session, ensure_reviewer(session, name).id, role)


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


def plan_merge(session: Session, *, person: int, into: int) -> Merge:
    """The effect of merging the first person into the second. Changes nothing.

    Raises:
        HedgerowError: the two are already merged, or one of them is a model.
    """
    return _planned(session, session.get_one(Reviewer, person), session.get_one(Reviewer, into))


def _planned(session: Session, person: Reviewer, into: Reviewer) -> Merge:
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


def merge(engine: Engine, *, person: int, into: int) -> Merge:
    """Merge the first person into the second.

    Raises:
        HedgerowError: as in ``plan_merge``, or the user is not a lead.
    """
    require(TeamRole.LEAD)
    with reading(engine) as session:
        done = plan_merge(session, person=person, into=into)
    with writing(engine) as session:
        one, other = session.get_one(Reviewer, person), session.get_one(Reviewer, into)
        _check(one, other)
        followers = update(Reviewer).where(col(Reviewer.merged_into_id) == person)
        ids = _shared(session, one, other) | _begun(session, one)
        session.execute(followers.values(merged_into_id=into))
        one.merged_into_id = into
        key = mark(session)
    refresh_in_pieces(engine, key, ids)
    return done


class Separated(NamedTuple):
    """The names of two people who had been merged."""

    person: str
    into: str


def separate(engine: Engine, person: int) -> Separated:
    """Undo a merge: the decisions made under the person's own name are theirs again.

    Decisions made under the other name since then stay with that person.

    Raises:
        HedgerowError: they have not been merged, or the user is not a lead.
    """
    require(TeamRole.LEAD)
    with writing(engine) as session:
        found = session.get_one(Reviewer, person)
        if found.merged_into_id is None:
            raise HedgerowError(
                f"'{found.name}' has not been merged; there is nothing to separate."
            )
        into = session.get_one(Reviewer, found.merged_into_id)
        found.merged_into_id = None
        key = mark(session)
    with reading(engine) as session:
        ids = _shared(session, found, into) | _begun(session, found)
    refresh_in_pieces(engine, key, ids)
    return Separated(found.name, into.name)


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
    return _decided(session, person) & _decided(session, into)


def _begun(session: Session, person: Reviewer) -> set[int]:
    """The variants whose ``verdicts_by`` may name this person or somebody merged into them."""
    return _decided(session, person, col(Variant.verdicts_by) != "")


def _decided(session: Session, person: Reviewer, *conditions: ColumnElement[bool]) -> set[int]:
    query = (
        select(col(Variant.id))
        .join(Decision, col(Decision.variant_id) == col(Variant.id))
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .where(person_id_now() == person.id, *conditions)
    )
    return set(session.execute(query.distinct()).scalars())
