"""How far the people have come with the variants that several of them decide on."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.plurals import counted
from curation.review.assignment.plan import Plan
from curation.review.decisions import counts_still, made_by_rule
from curation.review.history import stands
from curation.review.people.reviewers import whose
from db.models import Decision, Reviewer, ReviewerKind, Status, TypeRow, Variant


@dataclass(frozen=True)
class Progress:
    """The variants of the plan that are in use: those pending, and those with people's verdicts.

    What models or a rule have decided is left out: people are not asked for it.

    Attributes:
        by_type: type → how many variants have 0, 1, … verdicts, up to ``plan.reviewers``; a variant
            that was settled before counts as finished. Types in the taxonomy's order.
        people: how many people have decided on anything.
        accepted_unfinished: variants that are accepted so far and want more verdicts.
    """

    plan: Plan
    by_type: dict[str, tuple[int, ...]]
    people: int
    accepted_unfinished: int

    @property
    def total(self) -> tuple[int, ...]:
        """Variants with 0, 1, … verdicts, of all types."""
        return tuple(map(sum, zip(*self.by_type.values(), strict=True)))

    def in_words(self) -> list[str]:
        """What is still to come, in sentences; none without a plan."""
        if not self.plan:
            return []
        if not self.by_type:
            return ["No variant is among them yet."]
        *unfinished, finished = self.total
        chosen = counted(sum(self.total), "variant")
        said = [
            f"{chosen} for {self.plan.reviewers} people each: {finished:,} finished or settled, "
            f"{counted(self.verdicts_left, 'verdict')} still to come."
        ]
        if sum(unfinished) and self.people < self.plan.reviewers:
            said.append(
                f"It takes {self.plan.reviewers} people, and so far "
                f"{'1 person has' if self.people == 1 else f'{self.people} people have'} decided "
                "on anything here."
            )
        if number := self.accepted_unfinished:
            said.append(
                f"{number:,} of the unfinished ones {'is' if number == 1 else 'are'} accepted so "
                "far; a release takes what is accepted."
            )
        return said

    @property
    def verdicts_left(self) -> int:
        """How many verdicts are still to come."""
        most = self.plan.reviewers
        return sum(number * (most - have) for have, number in enumerate(self.total))


def progress(session: Session, plan: Plan) -> Progress:
    """How many verdicts the variants of the plan have. Takes some seconds for 350,000 variants."""
    found: Counter[tuple[str, int]] = Counter()
    if plan:
        found.update(_found(session, plan))
    by_type = {
        type_id: tuple(found[type_id, number] for number in range(plan.reviewers + 1))
        for type_id in dict.fromkeys(type_id for type_id, _ in found)
    }
    return Progress(plan, by_type, _people(session), count_accepted_unfinished(session))


def _found(session: Session, plan: Plan) -> Iterator[tuple[str, int]]:
    """The type and the number of verdicts of each variant of the plan."""
    said = _verdicts(session)
    query = (
        select(col(Variant.id), col(Variant.uid), col(Variant.type_id), col(Variant.status))
        .join(TypeRow, col(TypeRow.id) == col(Variant.type_id))
        .where(col(Variant.retired).is_(False), col(Variant.author_id).is_(None))
        .order_by(col(TypeRow.ordinal), col(TypeRow.id))
    )
    for variant_id, uid, type_id, status in session.execute(query):
        verdicts = said.get(variant_id, _NONE)
        is_theirs = verdicts.people or status is Status.PENDING
        if is_theirs and not verdicts.by_rule and plan.wanted(uid) > 1:
            most = plan.reviewers
            yield type_id, most if verdicts.settled else min(verdicts.people, most)


class _Verdicts(NamedTuple):
    """What people say of a variant: how many did, and whether a rule or a settlement did."""

    people: int
    by_rule: bool
    settled: bool


_NONE = _Verdicts(0, False, False)


def _verdicts(session: Session) -> dict[int, _Verdicts]:
    """By variant, the verdicts of people that stand."""
    query = (
        select(
            col(Decision.variant_id),
            func.count(whose().distinct()),
            func.max(case((made_by_rule(), 1), else_=0)),
            func.max(case((col(Decision.adjudicates), 1), else_=0)),
        )
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(col(Reviewer.kind) == ReviewerKind.PERSON, counts_still(), stands())
        .group_by(col(Decision.variant_id))
    )
    return {
        variant_id: _Verdicts(people, bool(by_rule), bool(settled))
        for variant_id, people, by_rule, settled in session.execute(query)
    }


def _people(session: Session) -> int:
    decided = select(col(Decision.id)).where(col(Decision.reviewer_id) == col(Reviewer.id))
    query = select(func.count(whose().distinct())).where(
        col(Reviewer.kind) == ReviewerKind.PERSON, decided.exists()
    )
    return session.execute(query).scalar_one()


def count_accepted_unfinished(session: Session) -> int:
    """Variants that are accepted so far, and that more people are to decide on."""
    query = select(func.count()).where(
        col(Variant.verdicts_by) != "",
        col(Variant.retired).is_(False),
        col(Variant.status) == Status.ACCEPTED,
    )
    return session.execute(query).scalar_one()
