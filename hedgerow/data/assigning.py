"""Who decides on what, how far they are, and how much each person is to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.orm import Session

from curation.review.assignment.plan import Plan, current_plan
from curation.review.assignment.planning import assign as assign_plan
from curation.review.assignment.progress import progress
from curation.review.assignment.quotas import all_quotas, shares_of, work_done
from curation.review.assignment.quotas import set_quota as store_quota
from curation.review.people.reviewers import find_person
from db.engine import reading, writing
from hedgerow.home import Home

if TYPE_CHECKING:
    import pandas as pd

_QUOTA = ("reviewer", "type", "quota", "done")


class Assignment(NamedTuple):
    """How many people decide on what share of the variants, and how far they are.

    Attributes:
        reviewers: people per variant of the share; 1 without an assignment.
        share: of the variants, in [0, 1].
        verdicts: by type, how many of these variants have 0, 1, … verdicts, up to `reviewers`.
        verdicts_left: verdicts still to come.
        accepted_unfinished: of the accepted variants, those that want more verdicts.
        meaning: all of that in sentences.
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
    """The same in a session."""
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
    """Change one of the two, and keep the other; without an assignment, two people are meant."""
    with writing(home.engine) as session:
        plan: Plan = current_plan(session)
        assign_plan(
            session,
            reviewers=max(2, plan.reviewers) if reviewers is None else reviewers,
            share=plan.share if share is None else share,
        )


def quota_rows(home: Home) -> list[dict[str, Any]]:
    """The quotas of all people; 'type' is '' where it is for all types together."""
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
