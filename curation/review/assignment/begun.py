"""Begun variants: some people have decided on them, and the assignment needs others to decide.

Each stores who has decided on it (``Variant.verdicts_by``). This column has few different values,
one for each group of people who have decided on the same variants. So an index finds the variants
left for a person group by group, however many they have decided on.
"""

from collections.abc import Iterable
from typing import NamedTuple

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

from curation.review.assignment.plan import current_plan
from curation.review.people.reviewers import person_now, whose
from db.models import Reviewer, Status, Variant


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
    person = select(whose()).where(col(Reviewer.id) == reviewer_id).scalar_subquery()
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


class Left(NamedTuple):
    """The number of begun variants of a type and a source that are left for a person."""

    type_id: str
    source_id: int
    variants: int


def count_begun(session: Session, reviewer_id: int) -> list[Left]:
    """The begun variants that are left for this person, by type and source."""
    by = (col(Variant.type_id), col(Variant.source_id))
    query = (
        select(*by, func.count())
        .where(is_begun(), lacks(col(Variant.verdicts_by), reviewer_id))
        .group_by(*by)
    )
    return [Left(*row) for row in session.execute(query)]
