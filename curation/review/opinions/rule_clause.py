"""A judge's opinion as a clause of a bulk rule: ``accepted by judge: gpt-4o-mini, prompt 1``."""

import re
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlmodel import col

from db.models import Opinion, Reviewer, Variant, Verdict

VERBS = {"accepted": Verdict.ACCEPT, "edited": Verdict.EDIT, "rejected": Verdict.REJECT}
"""The verdicts by their names in rules."""

_CLAUSE = re.compile(rf"({'|'.join(VERBS)}) by (.+)", re.IGNORECASE)


@dataclass(frozen=True)
class OpinionClause:
    """``accepted by JUDGE``: whether this judge gave that verdict on the variant's current text."""

    verb: str
    judge: str

    def __str__(self) -> str:
        """The clause as text."""
        return f"{self.verb} by {self.judge}"

    def condition(self) -> ColumnElement[bool]:
        """The test in SQL; false without an opinion of the judge."""
        return (
            select(col(Opinion.decision_id))
            .join(Reviewer, col(Reviewer.id) == Opinion.reviewer_id)
            .where(
                col(Opinion.variant_id) == Variant.id,
                col(Opinion.since_version) == Variant.since_version,
                col(Opinion.verdict) == VERBS[self.verb],
                col(Reviewer.name) == self.judge,
            )
            .exists()
        )


def opinion_clause(text: str) -> OpinionClause | None:
    """Parse the text; None if it is not such a clause."""
    match = _CLAUSE.fullmatch(text)
    return OpinionClause(match[1].lower(), match[2].strip()) if match else None
