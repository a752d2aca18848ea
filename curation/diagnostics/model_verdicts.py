"""Models' verdicts: how far they agree with people's, and switching them on or off.

A switch and all its changes are stored in one transaction, so that every stored status always
agrees with the decisions. The changes are computed before, so that reviewers need not wait. The
transaction only recomputes variants that were decided on in the meantime.
"""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, bindparam, case, func, literal_column, select, update
from sqlalchemy.orm import Session, aliased
from sqlmodel import col

from curation.decisions.coefficients import kappa
from curation.decisions.history import not_retracted
from curation.decisions.reviewers import person_id_now
from curation.decisions.status import Standing
from curation.decisions.storing import (
    chunks,
    compute_standing,
    counts_still,
    forget_kept,
    kept_columns,
)
from curation.diagnostics.opinions import ModelReviewer, model_reviewers
from db import Report
from db.engine import reading, writing
from db.errors import HedgerowError
from db.execution import RunContext
from db.models import (
    Decision,
    Opinion,
    OpinionLook,
    Reviewer,
    ReviewerKind,
    Status,
    TypeRow,
    Variant,
    Verdict,
)

KIND = "recount"
"""The kind of run for a large switch."""

AT_ONCE = 20_000
"""Maximum number of a model's decisions for a switch in the page itself, which takes a second."""


_OF_MODELS = ("status", "second_look", "model_only")
"""The fields of a ``Standing`` that depend on models' verdicts."""


class SwitchPlan(NamedTuple):
    """The changes that a switch makes.

    Attributes:
        counting: model's reviewer id → whether it counted when the plan was made.
        versions: variant id → version, for all variants that the model has decided on.
        changes: variant id → new standing, for those whose standing changes.
        statuses: (status before, status after) → number of variants whose status changes.
    """

    reviewer_id: int
    counts: bool
    counting: dict[int, bool]
    versions: dict[int, int]
    changes: dict[int, Standing]
    statuses: dict[tuple[Status, Status], int]

    @property
    def total(self) -> int:
        """The number of variants whose status changes."""
        return sum(self.statuses.values())


def find_model(session: Session, name: str) -> ModelReviewer:
    """The model reviewer with this name.

    Raises:
        HedgerowError: there is none, or the name is a person's, whose verdicts always count.
    """
    found = next((model for model in model_reviewers(session) if model.name == name), None)
    if found is None:
        raise HedgerowError(
            f"There is no model reviewer '{name}'; 'hedgerow settings' lists all of them."
        )
    return found


def plan_switch(
    session: Session, reviewer_id: int, *, counts: bool, report: Report | None = None
) -> SwitchPlan:
    """Compute what would change if this model's verdicts counted, or no longer did."""
    versions = _versions(session, reviewer_id)
    changes: dict[int, Standing] = {}
    statuses: Counter[tuple[Status, Status]] = Counter()
    done = 0
    for ids in chunks(versions):
        query = select(col(Variant.id), *kept_columns()).where(col(Variant.id).in_(ids))
        kept = {key: Standing(*values) for key, *values in session.execute(query)}
        standings = compute_standing(session, ids, switched={reviewer_id: counts})
        for variant_id, standing in standings.items():
            if standing != kept[variant_id]:
                changes[variant_id] = standing
            if standing.status != kept[variant_id].status:
                statuses[(kept[variant_id].status, standing.status)] += 1
        done += len(ids)
        if report is not None:
            report(done, len(versions), "Recomputing statuses.")
    return SwitchPlan(reviewer_id, counts, _counting(session), versions, changes, dict(statuses))


def apply_switch(session: Session, plan: SwitchPlan) -> int:
    """Switch the model and update all affected variants.

    Returns:
        The number of variants whose standing has changed.

    Raises:
        HedgerowError: another model has been switched since the plan was made.
    """
    reviewer = session.get_one(Reviewer, plan.reviewer_id, with_for_update=True)
    if _counting(session) != plan.counting:
        raise HedgerowError("Somebody else has just switched a model on or off; try again.")
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
    """Switch a model on or off at once. Return the changes.

    Raises:
        HedgerowError: as ``apply_switch``.
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
    """The versions of all variants that this reviewer has decided on.

    Args:
        lock: lock them against decisions until this transaction ends (SQLite has only one writer).
    """
    decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id) == reviewer_id)
    query = select(col(Variant.id), col(Variant.version)).where(col(Variant.id).in_(decided))
    if lock:
        query = query.order_by(col(Variant.id)).with_for_update(key_share=True)
    return dict(session.execute(query).all())


# -- Agreement of a model's opinions with people's verdicts on the same variants, by type ---------


class Agreement(NamedTuple):
    """Agreement of one model's opinions with people's verdicts.

    The unit is a pair: a variant that the model judged and a person's latest verdict on it that
    counts, for the same text of the anchor. Each of the two either accepts the variant as it is or
    does not; an edit counts as not accepting it.

    Attributes:
        both: number of pairs in which both accept it.
        model_only, person_only: number of pairs in which only one accepts it.
        neither: number of pairs in which neither does.
        after_looking: number of further pairs, left out because the person had seen the opinion.
    """

    type_id: str
    both: int = 0
    model_only: int = 0
    person_only: int = 0
    neither: int = 0
    after_looking: int = 0

    @property
    def pairs(self) -> int:
        """The number of pairs that count."""
        return self.both + self.model_only + self.person_only + self.neither

    @property
    def share(self) -> float | None:
        """The share of pairs that agree, in [0, 1]; None without pairs."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, in [-1, 1]; None if it is undefined (no pairs, or only one verdict)."""
        found = kappa(np.array([[self.both, self.model_only], [self.person_only, self.neither]]))
        return None if np.isnan(found) else float(found)


def agreement(session: Session, reviewer_id: int) -> list[Agreement]:
    """The agreement for each type with pairs, in the taxonomy's order.

    Args:
        reviewer_id: the model's.
    """
    taken = col(Opinion.verdict) == Verdict.ACCEPT
    accepted = col(Decision.verdict) == Verdict.ACCEPT
    cell = case((knew_opinion(), 4), (taken & accepted, 0), (taken, 1), (accepted, 2), else_=3)
    latest = (
        select(func.max(col(Decision.id)))
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .join(Opinion, col(Opinion.variant_id) == Decision.variant_id)
        .where(
            col(Opinion.reviewer_id) == reviewer_id,
            col(Reviewer.kind) == ReviewerKind.PERSON,
            not_retracted(),
        )
        .group_by(col(Decision.variant_id), person_id_now())
    )
    query = (
        select(col(Variant.type_id), cell.label("cell"), func.count())
        .select_from(Decision)
        .join(Variant, col(Variant.id) == Decision.variant_id)
        .join(
            Opinion,
            (col(Opinion.variant_id) == Variant.id)
            & (col(Opinion.reviewer_id) == reviewer_id)
            & (col(Opinion.since_version) == col(Variant.since_version)),
        )
        .join(TypeRow, col(TypeRow.id) == Variant.type_id)
        .join(Reviewer, col(Reviewer.id) == Decision.reviewer_id)
        .where(col(Decision.id).in_(latest), counts_still())
        .group_by(col(TypeRow.ordinal), col(Variant.type_id), literal_column("cell"))
        .order_by(col(TypeRow.ordinal), col(Variant.type_id))
    )
    cells: dict[str, list[int]] = {}
    for type_id, number, count in session.execute(query):
        cells.setdefault(type_id, [0] * 5)[number] = count
    return [Agreement(type_id, *counts) for type_id, counts in cells.items()]


def verdict_counts(session: Session, reviewer_id: int) -> dict[Verdict, int]:
    """How often a model has given each verdict."""
    query = (
        select(col(Opinion.verdict), func.count())
        .where(col(Opinion.reviewer_id) == reviewer_id)
        .group_by(col(Opinion.verdict))
    )
    return {Verdict(verdict): number for verdict, number in session.execute(query)}


def together(rows: list[Agreement]) -> Agreement:
    """The agreement for all types together, with the type 'all'."""
    counts = [row[1:] for row in rows]
    return Agreement("all", *(sum(some[index] for some in counts) for index in range(5)))


# -- Which decisions were made after seeing a model's opinion -------------------------------------


def knew_opinion() -> ColumnElement[bool]:
    """SQL, over ``Decision``: the reviewer had already seen an opinion on the variant."""
    decision, who, looker = aliased(Decision), aliased(Reviewer), aliased(Reviewer)
    # Computed once from the few stored looks, not for every decision.
    after_looking = (
        select(col(decision.id))
        .select_from(OpinionLook)
        .join(looker, col(looker.id) == col(OpinionLook.reviewer_id))
        .join(decision, col(decision.variant_id) == col(OpinionLook.variant_id))
        .join(who, col(who.id) == col(decision.reviewer_id))
        .where(
            func.coalesce(who.merged_into_id, who.id)
            == func.coalesce(looker.merged_into_id, looker.id),
            col(OpinionLook.seen_at) < col(decision.decided_at),
        )
    )
    return col(Decision.id).in_(after_looking)
