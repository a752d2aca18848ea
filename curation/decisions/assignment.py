"""Assignment: how many people decide on each variant, and variants that some have begun."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    SQLColumnExpression,
    String,
    and_,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.reviewers import person_id_now, person_now
from curation.project.settings import ASSIGNMENT
from curation.splits import OVERLAP_SALT, bucket
from db.errors import HedgerowError
from db.models import Reviewer, Setting, Status, Variant

# -- The plan: how many people decide on each variant ---------------------------------------------


MAX_REVIEWERS = 5
"""Maximum number of people per variant."""


class Plan(NamedTuple):
    """The assignment of a project.

    Attributes:
        reviewers: people per assigned variant; 1 without an assignment.
        share: the share of variants to assign, in [0, 1].
    """

    reviewers: int = 1
    share: float = 0.0

    def __bool__(self) -> bool:
        """Whether any variant is assigned to several people."""
        return self.reviewers > 1 and self.share > 0

    def wanted(self, uid: str) -> int:
        """How many people must decide on the variant with this uid."""
        return self.reviewers if self and bucket(uid, salt=OVERLAP_SALT) < self.share else 1

    def in_words(self) -> str:
        """The plan as a sentence."""
        if not self:
            return "One person decides on each variant."
        if self.share == 1:
            return f"{self.reviewers} people decide on each variant."
        percent = f"{100 * self.share:.4g}%"
        return (
            f"{percent} of the variants need verdicts from {self.reviewers} people each. The "
            "others need one verdict."
        )


def checked_plan(*, reviewers: int, share: float) -> Plan:
    """A valid plan. A share of 0 ends the assignment.

    Raises:
        HedgerowError: an argument is out of range.
    """
    if not 2 <= reviewers <= MAX_REVIEWERS:
        raise HedgerowError(
            f"Expected 2 to {MAX_REVIEWERS} reviewers per variant, found {reviewers}."
        )
    if not 0 <= share <= 1:
        raise HedgerowError(
            "Expected a share from 0 to 1 (100%), such as 0.2 for a fifth of the variants, found "
            f"{share:g} ({share:.0%})."
        )
    return Plan(reviewers, float(share))


_PLAN = select(col(Setting.value)).where(col(Setting.key) == ASSIGNMENT)


def current_plan(session: Session) -> Plan:
    """The project's current plan."""
    kept: dict[str, Any] | None = session.connection().execute(_PLAN).scalar()
    return Plan(**kept) if kept else Plan()


# -- begun ----------------------------------------------------------------------------------------


def is_begun() -> ColumnElement[bool]:
    """SQL: people have decided on the variant, and the assignment needs verdicts of more people.

    The condition is written as in the indexes, so that the database recognises that a partial index
    applies.
    """
    return and_(unfinished(), col(Variant.retired).is_(False))


def unfinished() -> ColumnElement[bool]:
    """SQL: the same, including retired variants."""
    return col(Variant.verdicts_by) != literal_column("''")


def lacks(
    people: SQLColumnExpression[str], reviewer_id: int | BindParameter[int]
) -> ColumnElement[bool]:
    """SQL: this person is not in the list of people, which is written ',3,7,'."""
    person = select(person_id_now()).where(col(Reviewer.id) == reviewer_id).scalar_subquery()
    return ~people.contains("," + cast(person, String) + ",")


def groups(reviewer_id: BindParameter[int]) -> CTE:
    """SQL: the column ``people`` with each value of ``verdicts_by`` that lacks this person.

    The database jumps from one value to the next with an index.
    """
    begun = is_begun()
    first = select(func.min(Variant.verdicts_by).label("people")).where(begun)
    values = first.cte("begun_by", recursive=True)
    other = aliased(Variant)
    following = (
        select(func.min(other.verdicts_by))
        .where(
            col(other.verdicts_by) > values.c.people,
            col(other.verdicts_by) != literal_column("''"),
            col(other.retired).is_(False),
        )
        .scalar_subquery()
    )
    values = values.union_all(select(following).where(values.c.people.is_not(None)))
    return (
        select(values.c.people)
        .where(values.c.people.is_not(None), lacks(values.c.people, reviewer_id))
        .cte("begun_groups")
    )


_ANY = select(col(Variant.id)).where(is_begun()).limit(1)


def any_begun(session: Session) -> bool:
    """Whether there is a begun variant. There is none without an assignment."""
    return session.connection().execute(_ANY).first() is not None


def is_asked(session: Session, variant: Variant, reviewer_id: int) -> bool:
    """Whether other people have begun this variant and this person must still decide on it."""
    people = variant.verdicts_by
    return bool(people) and f",{person_now(session, reviewer_id).id}," not in people


def seen_blind(session: Session, variants: Iterable[Variant]) -> set[int]:
    """The ids of the variants that are assigned to several people and that nobody has begun.

    Their cards are blind from the start, so that all of these people see the same.
    """
    plan = current_plan(session)
    return {
        variant.id
        for variant in variants
        if (variant.status == Status.PENDING or variant.model_only)
        and variant.author_id is None
        and plan.wanted(variant.uid) > 1
    }


def count_begun(session: Session, reviewer_id: int) -> dict[tuple[str, int], int]:
    """The number of begun variants that are left for this person, by type and source."""
    by = (col(Variant.type_id), col(Variant.source_id))
    query = (
        select(*by, func.count())
        .where(is_begun(), lacks(col(Variant.verdicts_by), reviewer_id))
        .group_by(*by)
    )
    return {(type_id, source): number for type_id, source, number in session.execute(query)}
