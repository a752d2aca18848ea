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


class Assigning:
    """The methods of `hedgerow.Project` for assigning variants and setting quotas."""

    _home: Home

    def assign(self, *, reviewers: int = 2, share: float) -> Assignment:
        """Have several people decide independently on a share of the variants.

        They do not see each other's verdicts. Earlier decisions are kept and count.

        Args:
            reviewers: number of people who decide on each of these variants.
            share: share of all variants, in [0, 1]; 0 ends the assignment.

        Raises:
            HedgerowError: an argument is out of range.

        >>> project = example_project()
        >>> project.assign(reviewers=2, share=1).verdicts["verbal"]
        [1, 0, 0]
        """
        return assign(self._home, reviewers=reviewers, share=share)

    def assignment(self) -> Assignment:
        """The current assignment and its progress.

        >>> example_project().assignment().meaning
        ['One person decides on each variant.']
        """
        return assignment(self._home)

    def set_quota(self, reviewer: str, variants: int | None, *, type: str = "") -> None:
        """Set the number of variants that a person should decide on. No decision changes.

        Args:
            reviewer: a person's name.
            variants: the quota; None removes it.
            type: the variant type that the quota is for; '' for all types combined.

        Raises:
            HedgerowError: the person or type is unknown, the number is out of range, or there is no
                quota to remove.

        >>> project = example_project()
        >>> uid = project.variants(type="verbal")["uid"].iloc[0]
        >>> decided = project.accept(uid, reviewer="Ada")
        >>> project.set_quota("Ada", 50, type="verbal")
        >>> project.quotas()
          reviewer    type  quota  done
        0      Ada  verbal     50     1
        """
        set_quota(self._home, reviewer, variants, type_id=type)

    def quotas(self) -> pd.DataFrame:
        """The quotas of all people.

        Returns:
            One row per quota: reviewer, type ('' for all types combined), quota, done.

        >>> len(example_project().quotas())
        0
        """
        return quotas(self._home)


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
    assign_plan(home.engine, reviewers=reviewers, share=share)
    return assignment(home)


def change_plan(home: Home, *, reviewers: int | None, share: float | None) -> None:
    """Change the values that are given. Without an assignment, ``reviewers`` defaults to two."""
    with reading(home.engine) as session:
        plan: Plan = current_plan(session)
    assign_plan(
        home.engine,
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
