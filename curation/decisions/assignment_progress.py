"""The progress of the assignment: how many verdicts its variants have."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine, case, func, select, text
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.assignment import Plan, checked_plan, current_plan
from curation.decisions.history import not_retracted
from curation.decisions.reviewers import person_id_now
from curation.decisions.roles import require
from curation.decisions.storing import counts_still, made_by_rule
from curation.decisions.unfinished import mark, refresh_in_pieces
from curation.formatting import counted
from curation.project.settings import ASSIGNMENT, put_setting
from db.engine import reading, writing
from db.models import Decision, Reviewer, ReviewerKind, Status, TeamRole, TypeRow, Variant


@dataclass(frozen=True)
class Progress:
    """The assigned variants in use: pending ones, and those with verdicts of people.

    Variants that only models or a rule have decided are left out, because people are not asked for
    them.

    Attributes:
        by_type: type → how many variants have 0, 1, … verdicts, up to ``plan.reviewers``, in
            taxonomy order. A settled variant counts as finished.
        people: how many people have decided on any variant.
        accepted_unfinished: accepted variants that still need verdicts.
    """

    plan: Plan
    by_type: dict[str, tuple[int, ...]]
    people: int
    accepted_unfinished: int

    @property
    def total(self) -> tuple[int, ...]:
        """How many variants of all types have 0, 1, … verdicts."""
        return tuple(map(sum, zip(*self.by_type.values(), strict=True)))

    def in_words(self) -> list[str]:
        """The progress in sentences; none without a plan."""
        if not self.plan:
            return []
        if not self.by_type:
            return ["No variants are assigned yet."]
        *unfinished, finished = self.total
        lines = [
            f"{counted(sum(self.total), 'variant')} {'needs' if sum(self.total) == 1 else 'need'} "
            f"verdicts from {self.plan.reviewers} people each. {finished:,} "
            f"{'is' if finished == 1 else 'are'} finished or settled, and "
            f"{counted(self.verdicts_left, 'verdict')} "
            f"{'is' if self.verdicts_left == 1 else 'are'} missing. Variants that only models or a "
            "rule have decided on are not counted."
        ]
        if sum(unfinished) and self.people < self.plan.reviewers:
            have = {0: "nobody has", 1: "1 person has"}
            lines.append(
                f"This needs {self.plan.reviewers} reviewers. So far, "
                f"{have.get(self.people, f'{self.people} people have')} reviewed."
            )
        if number := self.accepted_unfinished:
            lines.append(
                f"{number:,} of the unfinished variants {'is' if number == 1 else 'are'} already "
                f"accepted, so a release includes {'it' if number == 1 else 'them'}."
            )
        return lines

    @property
    def verdicts_left(self) -> int:
        """How many verdicts are still needed."""
        most = self.plan.reviewers
        return sum(number * (most - have) for have, number in enumerate(self.total))


def progress(session: Session, plan: Plan) -> Progress:
    """Count the verdicts on assigned variants. Takes some seconds for 350,000 variants."""
    found: Counter[tuple[str, int]] = Counter()
    if plan:
        found.update(_found(session, plan))
    by_type = {
        type_id: tuple(found[type_id, number] for number in range(plan.reviewers + 1))
        for type_id in dict.fromkeys(type_id for type_id, _ in found)
    }
    return Progress(plan, by_type, _people(session), count_accepted_unfinished(session))


def _found(session: Session, plan: Plan) -> Iterator[tuple[str, int]]:
    """The type and the number of verdicts of each assigned variant."""
    by_variant = _verdicts(session)
    query = (
        select(col(Variant.id), col(Variant.uid), col(Variant.type_id), col(Variant.status))
        .join(TypeRow, col(TypeRow.id) == col(Variant.type_id))
        .where(col(Variant.retired).is_(False), col(Variant.author_id).is_(None))
        .order_by(col(TypeRow.ordinal), col(TypeRow.id))
    )
    for variant_id, uid, type_id, status in session.execute(query):
        verdicts = by_variant.get(variant_id, _NONE)
        is_for_people = verdicts.people or status is Status.PENDING
        if is_for_people and not verdicts.by_rule and plan.wanted(uid) > 1:
            most = plan.reviewers
            yield type_id, most if verdicts.settled else min(verdicts.people, most)


class _Verdicts(NamedTuple):
    """How many people decided on a variant, and whether a rule or a settlement did."""

    people: int
    by_rule: bool
    settled: bool


_NONE = _Verdicts(0, False, False)


def _verdicts(session: Session) -> dict[int, _Verdicts]:
    """By variant, people's current verdicts."""
    query = (
        select(
            col(Decision.variant_id),
            func.count(person_id_now().distinct()),
            func.max(case((made_by_rule(), 1), else_=0)),
            func.max(case((col(Decision.adjudicates), 1), else_=0)),
        )
        .join(Reviewer, col(Reviewer.id) == col(Decision.reviewer_id))
        .join(Variant, col(Variant.id) == col(Decision.variant_id))
        .where(col(Reviewer.kind) == ReviewerKind.PERSON, counts_still(), not_retracted())
        .group_by(col(Decision.variant_id))
    )
    return {
        variant_id: _Verdicts(people, bool(by_rule), bool(settled))
        for variant_id, people, by_rule, settled in session.execute(query)
    }


def _people(session: Session) -> int:
    decided = select(col(Decision.id)).where(col(Decision.reviewer_id) == col(Reviewer.id))
    query = select(func.count(person_id_now().distinct())).where(
        col(Reviewer.kind) == ReviewerKind.PERSON, decided.exists()
    )
    return session.execute(query).scalar_one()


def count_accepted_unfinished(session: Session) -> int:
    """The number of accepted variants that still need verdicts of more people."""
    query = select(func.count()).where(
        col(Variant.verdicts_by) != "",
        col(Variant.retired).is_(False),
        col(Variant.status) == Status.ACCEPTED,
    )
    return session.execute(query).scalar_one()


# -- Change the assignment, and update the derived columns of variants ----------------------------


def assign(engine: Engine, *, reviewers: int, share: float) -> Plan:
    """Have several people decide on a share of the variants.

    Decisions are kept, and earlier ones count, so another change can undo this one. The new plan
    applies at once; the variants that people have decided on follow in pieces.

    Args:
        reviewers: people per assigned variant.
        share: the share of variants to assign, in [0, 1]; 0 ends the assignment.

    Raises:
        HedgerowError: an argument is out of range, or the user is not a lead.
    """
    require(TeamRole.LEAD)
    plan = checked_plan(reviewers=reviewers, share=share)
    with writing(engine) as session:
        before = current_plan(session)
        if plan == before:
            return plan
        if engine.name == "postgresql":
            # Waits for concurrent decisions, so that each sees either the old plan or the new one.
            session.connection().execute(text("LOCK TABLE variant IN EXCLUSIVE MODE"))
        put_setting(session, ASSIGNMENT, plan._asdict() if plan else None)
        key = mark(session)
    with reading(engine) as session:
        affected = list(_affected(session, before, plan))
    refresh_in_pieces(engine, key, affected)
    return plan


def _affected(session: Session, *plans: Plan) -> Iterator[int]:
    """The variants with decisions of people that one of the plans assigns to several people."""
    people = select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)
    decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id).in_(people))
    query = select(col(Variant.id), col(Variant.uid)).where(
        col(Variant.id).in_(decided), col(Variant.author_id).is_(None)
    )
    for variant_id, uid in session.execute(query):
        if any(plan.wanted(uid) > 1 for plan in plans):
            yield variant_id
