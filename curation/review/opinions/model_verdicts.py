"""Which models' verdicts count, and what changes when that is switched.

A switch and all it changes are stored in one transaction, so that every kept status always is what
the decisions add up to. What would change is worked out before, without holding up those who
review; within the transaction only what was decided meanwhile is looked at again.
"""

from collections import Counter
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.diagnostics.cosines import Report
from curation.review.decisions import chunks, compute_standing, forget_kept, kept_columns
from curation.review.people.reviewers import decision_count
from curation.review.status import Standing
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import Decision, Reviewer, ReviewerKind, Status, Variant

KIND = "recount"
"""The kind of run that carries out a large switch."""

AT_ONCE = 20_000
"""Decisions of a model that are recounted within a page's own time, about a second."""


_OF_MODELS = ("status", "second_look", "model_only")
"""What models' verdicts have a part in, of a ``Standing``."""


class ModelReviewer(NamedTuple):
    """A model that reviews, and how many decisions it has made."""

    id: int
    name: str
    counts: bool
    decisions: int


class SwitchPlan(NamedTuple):
    """What a switch changes.

    Attributes:
        counting: reviewer id → whether it counts, of all models as they were looked at.
        versions: variant id → its version, of all variants that the model has decided on.
        changes: variant id → where it will stand, of those that will stand elsewhere.
        statuses: (status before, status after) → variants, of those whose status changes.
    """

    reviewer_id: int
    counts: bool
    counting: dict[int, bool]
    versions: dict[int, int]
    changes: dict[int, Standing]
    statuses: dict[tuple[Status, Status], int]

    @property
    def total(self) -> int:
        """Variants whose status changes."""
        return sum(self.statuses.values())


def model_reviewers(session: Session) -> list[ModelReviewer]:
    """The models that review, in the order in which they came."""
    query = (
        select(col(Reviewer.id), col(Reviewer.name), col(Reviewer.counts), decision_count())
        .where(col(Reviewer.kind) == ReviewerKind.MODEL)
        .order_by(col(Reviewer.id))
    )
    return [ModelReviewer(*row) for row in session.execute(query)]


def find_model(session: Session, name: str) -> ModelReviewer:
    """The model reviewer of this name.

    Raises:
        HedgerowError: there is none, or the name is a person's, who always counts.
    """
    found = next((model for model in model_reviewers(session) if model.name == name), None)
    if found is None:
        raise HedgerowError(
            f"There is no model reviewer '{name}'; 'hedgerow settings' names those there are."
        )
    return found


def plan_switch(
    session: Session, reviewer_id: int, *, counts: bool, report: Report | None = None
) -> SwitchPlan:
    """Work out what changes if this model's verdicts count, or no longer do; change nothing."""
    versions = _versions(session, reviewer_id)
    changes: dict[int, Standing] = {}
    statuses: Counter[tuple[Status, Status]] = Counter()
    done = 0
    for ids in chunks(versions):
        kept = _kept(session, ids)
        standings = compute_standing(session, ids, switched={reviewer_id: counts})
        for variant_id, standing in standings.items():
            if standing != kept[variant_id]:
                changes[variant_id] = standing
            if standing.status != kept[variant_id].status:
                statuses[(kept[variant_id].status, standing.status)] += 1
        done += len(ids)
        if report is not None:
            report(done, len(versions), "Counting the verdicts.")
    return SwitchPlan(reviewer_id, counts, _counting(session), versions, changes, dict(statuses))


def apply_switch(session: Session, plan: SwitchPlan) -> int:
    """Switch the model and give every variant the status that follows, together.

    Returns:
        How many variants stand elsewhere now.

    Raises:
        HedgerowError: another model was switched since the plan was made.
    """
    reviewer = session.get_one(Reviewer, plan.reviewer_id, with_for_update=True)
    if _counting(session) != plan.counting:
        raise HedgerowError("Meanwhile a model was switched by somebody else; please try again.")
    reviewer.counts = plan.counts
    session.flush()
    versions = _versions(session, plan.reviewer_id, lock=True)
    moved = [key for key, version in versions.items() if plan.versions.get(key) != version]
    changes = dict(plan.changes)
    for ids in chunks(moved):
        changes |= compute_standing(session, ids)
    if changes:
        session.connection().execute(
            update(Variant)
            .where(col(Variant.id) == bindparam("variant"))
            .values({name: bindparam(f"new_{name}") for name in _OF_MODELS}),
            [
                {"variant": key} | {f"new_{name}": getattr(now, name) for name in _OF_MODELS}
                for key, now in sorted(changes.items())
            ],
        )
    forget_kept(session)
    return len(changes)


def switch(session: Session, reviewer_id: int, *, counts: bool) -> SwitchPlan:
    """Have a model's verdicts count, or no longer, at once; says what that has changed.

    Raises:
        HedgerowError: as in ``apply_switch``.
    """
    plan = plan_switch(session, reviewer_id, counts=counts)
    apply_switch(session, plan)
    return plan


def work(context: RunContext) -> dict[str, Any]:
    """Switch a model on or off (run kind ``recount``).

    Parameters of the run: ``reviewer`` (its id), ``counts``.
    """
    reviewer_id = int(context.parameters["reviewer"])
    with reading(context.engine) as session:
        plan = plan_switch(
            session,
            reviewer_id,
            counts=bool(context.parameters["counts"]),
            report=context.update,
        )
    context.check()
    with writing(context.engine) as session:
        return {"variants": apply_switch(session, plan)}


def _counting(session: Session) -> dict[int, bool]:
    query = select(col(Reviewer.id), col(Reviewer.counts)).where(
        col(Reviewer.kind) == ReviewerKind.MODEL
    )
    return dict(session.execute(query).all())


def _versions(session: Session, reviewer_id: int, *, lock: bool = False) -> dict[int, int]:
    """The version of every variant that this reviewer has decided on.

    Args:
        lock: let nobody decide on them before this transaction ends (SQLite has one writer).
    """
    decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id) == reviewer_id)
    query = select(col(Variant.id), col(Variant.version)).where(col(Variant.id).in_(decided))
    if lock:
        query = query.order_by(col(Variant.id)).with_for_update(key_share=True)
    versions: dict[int, int] = dict(session.execute(query).all())
    return versions


def _kept(session: Session, ids: list[int]) -> dict[int, Standing]:
    query = select(col(Variant.id), *kept_columns()).where(col(Variant.id).in_(ids))
    return {row[0]: Standing(*row[1:]) for row in session.execute(query)}
