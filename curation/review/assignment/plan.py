"""The plan: how many people decide on each variant.

Several people decide on a share of the variants without seeing each other's verdicts. The share is
chosen by hash of the uids, so that a larger share contains every smaller one. Variants that a
person wrote are never assigned.
"""

from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import OVERLAP_SALT, bucket
from curation.project.opening import ASSIGNMENT
from db.errors import HedgerowError
from db.models import Setting

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
