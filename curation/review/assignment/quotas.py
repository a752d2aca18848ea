"""How many variants each person is to decide on, and how many they have.

Counted are the variants that a person has read and decided on: not what a rule of theirs decided,
not what they settled, not their own wordings. A verdict that was taken back does not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.review.decisions import chunks, made_by_rule
from curation.review.history import stands
from curation.review.people.reviewers import is_by, person_now, whose
from curation.taxonomy.built_in import known_type
from curation.taxonomy.project_types import all_types
from db.errors import HedgerowError
from db.models import Decision, Quota, Reviewer, ReviewerKind, Variant

ALL_TYPES = ""
"""The type of a quota for all types together."""

MAX_QUOTA = 10_000_000


class Share(NamedTuple):
    """What a person is to decide on of one type, or of ``ALL_TYPES``, and how far they are."""

    type_id: str
    quota: int
    done: int

    @property
    def is_reached(self) -> bool:
        """Whether they have done all of it; late decisions may make it more."""
        return self.done >= self.quota


@dataclass
class Workload:
    """One person's quotas, and which variants they have decided on, kept in step by a window.

    Attributes:
        quotas: by type or ``ALL_TYPES``.
        done: the type of each variant that counts, by its id.
        numbers: how many these are, by type.
    """

    reviewer_id: int
    quotas: Mapping[str, int]
    done: dict[int, str]
    numbers: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        """Count what is done."""
        self.numbers = Counter(self.done.values())

    def shares(self) -> list[Share]:
        """The quotas and what is done of each, that of all types first."""
        return [
            Share(type_id, quota, self.numbers[type_id] if type_id else len(self.done))
            for type_id, quota in sorted(self.quotas.items())
        ]

    def reached(self, type_ids: Iterable[str]) -> set[str]:
        """Those of these types of which this person is to decide no more."""
        full = {share.type_id for share in self.shares() if share.is_reached}
        return set(type_ids) if ALL_TYPES in full else full.intersection(type_ids)

    def refresh(self, session: Session, variant_ids: Iterable[int]) -> None:
        """Something was decided on these variants, or taken back."""
        for ids in chunks(variant_ids):
            query = _work_of(session, self.reviewer_id).where(col(Variant.id).in_(ids))
            now: dict[int, str] = dict(session.execute(query).all())
            before = [self.done.pop(key) for key in ids if key in self.done]
            self.numbers.subtract(before)
            self.numbers.update(now.values())
            self.done |= now


def workload(session: Session, reviewer_id: int) -> Workload | None:
    """A person's quotas and what they have done; None where they have no quota."""
    person = person_now(session, reviewer_id).id
    rows = session.execute(
        select(col(Quota.type_id), col(Quota.variants)).where(col(Quota.reviewer_id) == person)
    ).all()
    if not rows:
        return None
    done: dict[int, str] = dict(session.execute(_work_of(session, person)).all())
    return Workload(person, dict(rows), done)


def _is_work() -> ColumnElement[bool]:
    """SQL, over ``Decision``, ``Reviewer`` and ``Variant``: a decision that counts here."""
    author = aliased(Reviewer)
    writer = select(func.coalesce(author.merged_into_id, author.id)).where(
        col(author.id) == col(Variant.author_id)
    )
    return and_(
        col(Reviewer.kind) == ReviewerKind.PERSON,
        ~col(Decision.adjudicates),
        ~made_by_rule(),
        or_(col(Variant.author_id).is_(None), whose() != writer.scalar_subquery()),
        stands(),
    )


def _of_people(*columns: Any) -> Select[Any]:
    return (
        select(*columns)
        .select_from(Decision)
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(_is_work())
    )


def _work_of(session: Session, person: int) -> Select[Any]:
    """The ids and types of the variants that a person has decided on."""
    query = _of_people(col(Variant.id), col(Variant.type_id))
    return query.where(is_by(session, Decision.reviewer_id, person)).distinct()


def work_done(session: Session) -> dict[tuple[int, str], int]:
    """The number of variants that each person has decided on, by person and type."""
    of_type = (whose(), col(Variant.type_id))
    query = _of_people(*of_type, func.count(col(Variant.id).distinct())).group_by(*of_type)
    return {(person, type_id): number for person, type_id, number in session.execute(query)}


class PersonQuota(NamedTuple):
    """A quota of one of the people."""

    reviewer_id: int
    reviewer: str
    type_id: str
    quota: int


def all_quotas(session: Session) -> list[PersonQuota]:
    """The quotas of all people, those of one person together; not those of merged ones."""
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
    """Give a person a quota, another one, or none.

    Args:
        variants: how many variants they are to decide on; None to remove the quota.
        type_id: of this type, or of ``ALL_TYPES`` together.

    Raises:
        HedgerowError: the reviewer is no person, the type is unknown, the number is out of range,
            or there is no quota to remove.
    """
    person = person_now(session, reviewer_id)
    if person.kind is not ReviewerKind.PERSON:
        raise HedgerowError(f"'{person.name}' is a model; only people have quotas.")
    if type_id:
        known_type(list(all_types(session).values()), type_id)
    kept = session.get(Quota, (person.id, type_id))
    if variants is None:
        if kept is None:
            what = f"for '{type_id}'" if type_id else "for all types together"
            raise HedgerowError(f"'{person.name}' has no quota {what}; there is none to remove.")
        session.delete(kept)
    elif not 0 <= variants <= MAX_QUOTA:
        raise HedgerowError(f"Expected a quota of 0 to {MAX_QUOTA:,} variants, found {variants:,}.")
    else:
        session.merge(Quota(reviewer_id=person.id, type_id=type_id, variants=variants))
    session.flush()


def shares_of(
    quotas: Sequence[PersonQuota], done: Mapping[tuple[int, str], int]
) -> list[tuple[PersonQuota, Share]]:
    """Each quota with how much of it is done."""
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
