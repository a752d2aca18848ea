"""Assigning variants to reviewers, and setting quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.orm import Session

from curation.decisions.assignment import Plan, current_plan
from curation.decisions.assignment_progress import assign as assign_plan
from curation.decisions.assignment_progress import progress
from curation.decisions.quotas import all_quotas, shares_of, work_done
from curation.decisions.quotas import set_quota as store_quota
from curation.decisions.reviewers import find_person
from db.engine import reading, writing
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

_QUOTA = ("reviewer", "type", "quota", "done")


class Assignment(NamedTuple):
    """An assignment of variants to several reviewers, and its progress.

    Attributes:
        reviewers: the number of people per assigned variant; 1 without an assignment.
        share: the share of all variants that are assigned, in [0, 1].
        verdicts: by type, the number of assigned variants with 0, 1, … `reviewers` verdicts.
        verdicts_left: the number of missing verdicts.
        accepted_unfinished: the number of accepted variants with missing verdicts.
        meaning: sentences that describe the assignment and its progress.
    """

    reviewers: int
    share: float
    verdicts: dict[str, list[int]]
    verdicts_left: int
    accepted_unfinished: int
    meaning: list[str]


def assignment(home: Home) -> Assignment:
    """See `hedgerow.Project.assignment`."""
    with reading(home.engine) as session:
        return read_assignment(session)


def read_assignment(session: Session) -> Assignment:
    """Read the assignment in the caller's session."""
    plan = current_plan(session)
    found = progress(session, plan)
    return Assignment(
        reviewers=plan.reviewers if plan else 1,
        share=plan.share if plan else 0.0,
        verdicts={type_id: list(numbers) for type_id, numbers in found.by_type.items()},
        verdicts_left=found.verdicts_left,
        accepted_unfinished=found.accepted_unfinished,
        meaning=[plan.in_words(), *found.in_words()],
    )


def assign(home: Home, *, reviewers: int, share: float) -> Assignment:
    """See `hedgerow.Project.assign`."""
    with writing(home.engine) as session:
        assign_plan(session, reviewers=reviewers, share=share)
    return assignment(home)


def change_plan(home: Home, *, reviewers: int | None, share: float | None) -> None:
    """Change the values that are given. Without an assignment, ``reviewers`` defaults to two."""
    with writing(home.engine) as session:
        plan: Plan = current_plan(session)
        assign_plan(
            session,
            reviewers=max(2, plan.reviewers) if reviewers is None else reviewers,
            share=plan.share if share is None else share,
        )


def quota_rows(home: Home) -> list[dict[str, Any]]:
    """The quotas of all people. ``type`` is '' in a quota for all types combined."""
    with reading(home.engine) as session:
        found = shares_of(all_quotas(session), work_done(session))
    return [
        dict(zip(_QUOTA, (one.reviewer, one.type_id, one.quota, share.done), strict=True))
        for one, share in found
    ]


def quotas(home: Home) -> pd.DataFrame:
    """See `hedgerow.Project.quotas`."""
    import pandas as pd

    return pd.DataFrame(quota_rows(home), columns=list(_QUOTA))


def set_quota(home: Home, name: str, variants: int | None, *, type_id: str) -> None:
    """See `hedgerow.Project.set_quota`."""
    with writing(home.engine) as session:
        store_quota(session, find_person(session, name).id, variants, type_id=type_id)
