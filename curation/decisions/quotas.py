"""Quotas: how many variants each person should decide on, and how many they have decided on.

A variant counts if the person has read it and decided on it. Decisions by rule, settlements, own
variants and undone verdicts do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.history import decisions_with, is_persons_reading
from curation.decisions.reviewers import is_by, person_id_now, person_now
from curation.decisions.storing import chunks
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError
from db.models import Decision, Quota, Reviewer, ReviewerKind, Variant

ALL_TYPES = ""
"""The type of a quota for all types."""

MAX_QUOTA = 10_000_000


class Share(NamedTuple):
    """A person's quota for one type or for ``ALL_TYPES``, and how many variants are done."""

    type_id: str
    quota: int
    done: int

    @property
    def is_reached(self) -> bool:
        """Whether the quota is reached or exceeded."""
        return self.done >= self.quota


@dataclass
class Workload:
    """One person's quotas and progress. A review window keeps it up to date.

    Attributes:
        quotas: the quotas by type or ``ALL_TYPES``.
        done: the type of each variant that counts, by id.
        numbers: the number of these variants by type.
    """

    reviewer_id: int
    quotas: Mapping[str, int]
    done: dict[int, str]
    numbers: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        """Count the variants by type."""
        self.numbers = Counter(self.done.values())

    def shares(self) -> list[Share]:
        """The quotas with their progress, the one for all types first."""
        return [
            Share(type_id, quota, self.numbers[type_id] if type_id else len(self.done))
            for type_id, quota in sorted(self.quotas.items())
        ]

    def reached(self, type_ids: Iterable[str]) -> set[str]:
        """The types among these whose quota is reached."""
        full = {share.type_id for share in self.shares() if share.is_reached}
        return set(type_ids) if ALL_TYPES in full else full.intersection(type_ids)

    def refresh(self, session: Session, variant_ids: Iterable[int]) -> None:
        """Count these variants again, after a decision or an undo."""
        for ids in chunks(variant_ids):
            query = _work_of(session, self.reviewer_id).where(col(Variant.id).in_(ids))
            now: dict[int, str] = dict(session.execute(query).all())
            before = [self.done.pop(key) for key in ids if key in self.done]
            self.numbers.subtract(before)
            self.numbers.update(now.values())
            self.done |= now


def workload(session: Session, reviewer_id: int) -> Workload | None:
    """A person's quotas and progress; None without a quota."""
    person = person_now(session, reviewer_id).id
    rows = session.execute(
        select(col(Quota.type_id), col(Quota.variants)).where(col(Quota.reviewer_id) == person)
    ).all()
    if not rows:
        return None
    done: dict[int, str] = dict(session.execute(_work_of(session, person)).all())
    return Workload(person, dict(rows), done)


def _work_of(session: Session, person: int) -> Select[Any]:
    """The ids and types of the variants that a person has decided on."""
    query = decisions_with(col(Variant.id), col(Variant.type_id))
    its = is_by(session, Decision.reviewer_id, person)
    return query.where(is_persons_reading(), its).distinct()


def work_done(session: Session) -> dict[tuple[int, str], int]:
    """The number of variants that each person has decided on, by (person, type)."""
    of_type = (person_id_now(), col(Variant.type_id))
    query = decisions_with(*of_type, func.count(col(Variant.id).distinct()))
    query = query.where(is_persons_reading()).group_by(*of_type)
    return {(person, type_id): number for person, type_id, number in session.execute(query)}


class PersonQuota(NamedTuple):
    """A person's quota."""

    reviewer_id: int
    reviewer: str
    type_id: str
    quota: int


def all_quotas(session: Session) -> list[PersonQuota]:
    """The quotas of all people except merged ones, grouped by person."""
    query = (
        select(col(Reviewer.id), col(Reviewer.name), col(Quota.type_id), col(Quota.variants))
        .join(Quota, col(Quota.reviewer_id) == col(Reviewer.id))
        .where(col(Reviewer.merged_into_id).is_(None))
        .order_by(col(Reviewer.id), col(Quota.type_id))
    )
    return [PersonQuota(*row) for row in session.execute(query)]


def set_quota(
    session: Session, reviewer_id: int, variants: int | None, *, type_id: str = ALL_TYPES
) -> None:
    """Set, change or remove a person's quota.

    Args:
        variants: the number of variants; None removes the quota.
        type_id: the variant type, or ``ALL_TYPES``.

    Raises:
        HedgerowError: the reviewer is a model, the type is unknown, the number is out of range, or
            there is no quota to remove.
    """
    person = person_now(session, reviewer_id)
    if person.kind is not ReviewerKind.PERSON:
        raise HedgerowError(f"'{person.name}' is a model; only people can have quotas.")
    if type_id:
        known_type(list(all_types(session).values()), type_id)
    kept = session.get(Quota, (person.id, type_id))
    if variants is None:
        if kept is None:
            what = f"for '{type_id}'" if type_id else "for all types"
            raise HedgerowError(f"'{person.name}' has no quota {what}.")
        session.delete(kept)
    elif not 0 <= variants <= MAX_QUOTA:
        raise HedgerowError(f"Expected a quota of 0 to {MAX_QUOTA:,} variants, found {variants:,}.")
    else:
        session.merge(Quota(reviewer_id=person.id, type_id=type_id, variants=variants))
    session.flush()


def shares_of(
    quotas: Sequence[PersonQuota], done: Mapping[tuple[int, str], int]
) -> list[tuple[PersonQuota, Share]]:
    """Each quota with its progress."""
    totals: Counter[int] = Counter()
    for (person, _), number in done.items():
        totals[person] += number
    return [
        (
            one,
            Share(
                one.type_id,
                one.quota,
                done.get((one.reviewer_id, one.type_id), 0)
                if one.type_id
                else totals[one.reviewer_id],
            ),
        )
        for one in quotas
    ]
