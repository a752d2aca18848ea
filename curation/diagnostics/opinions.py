"""Second opinions: chat models' judgments of variants, and who has seen them.

An opinion is a decision of a model reviewer with additional data. The reviewer does not count until
it is switched on (``curation.diagnostics.model_verdicts``), and even then a person's verdict
outranks it. Opinions are shown only on request, and never affect the order or the look of cards in
blind mode.
"""

import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import canonical
from curation.decisions.history import decided_by
from curation.decisions.reviewers import (
    JUDGE,
    MAX_NAME,
    decision_count,
    ensure_reviewer,
    get_reviewer,
)
from curation.decisions.storing import refresh_status, rows_with
from curation.diagnostics.queue_order import refresh_priority
from curation.taxonomy.built_in import GUIDELINE_VERSION
from db.columns import now
from db.errors import HedgerowError
from db.models import Decision, Opinion, OpinionLook, Reviewer, ReviewerKind, Variant, Verdict

_NO_COMMENT = {
    Verdict.REJECT: "Rejected without a reason.",
    Verdict.EDIT: "Suggested another wording without a reason.",
}


class NewOpinion(NamedTuple):
    """An opinion to store.

    Attributes:
        version, since_version: the variant's, when it was judged.
        verdict: accept, reject or edit.
        reason: id of a reject reason; '' for accept.
        suggestion: a text in canonical form; '' for none.
        certainty: in [0, 1], or None.
    """

    variant_id: int
    version: int
    since_version: int
    verdict: Verdict
    reason: str
    comment: str
    suggestion: str
    certainty: float | None
    answer_id: int


class GivenOpinion(NamedTuple):
    """An opinion as shown to a person: like ``NewOpinion``, with the model's name."""

    reviewer: str
    counts: bool
    verdict: Verdict
    reason: str
    comment: str
    suggestion: str
    certainty: float | None
    decided_at: datetime


class ModelReviewer(NamedTuple):
    """A model that reviews, and the number of its decisions; a judge's are its opinions."""

    id: int
    name: str
    counts: bool
    decisions: int


def judge_name(model: str, prompt_version: int) -> str:
    """The reviewer name of a model with one version of the prompt.

    Each version makes a separate reviewer, with its own agreement with people and its own switch.
    """
    tail = f", prompt {prompt_version}"
    space = MAX_NAME - len(JUDGE) - len(tail)
    name = canonical(model)
    if len(name) > space:
        # Keep long names with the same beginning distinct.
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: space - len(digest) - 1]}…{digest}"
    return f"{JUDGE}{name}{tail}"


def ensure_judge(session: Session, model: str, prompt_version: int) -> Reviewer:
    """The reviewer for this model and prompt. A new one does not count."""
    name = judge_name(model, prompt_version)
    if (known := get_reviewer(session, name)) is not None and known.kind is ReviewerKind.MODEL:
        return known
    reviewer = ensure_reviewer(session, name, kind=ReviewerKind.MODEL)
    reviewer.counts = False
    session.flush()
    return reviewer


def store_opinions(session: Session, opinions: Sequence[NewOpinion], *, reviewer_id: int) -> int:
    """Store a model's opinions as its decisions.

    The decision for an edit is a rejection, because a suggestion does not become a variant by
    itself. Variants that this reviewer has already judged with the same text of the anchor are
    skipped. While the reviewer does not count, statuses and versions do not change.

    Returns:
        The number of stored opinions.
    """
    if not opinions:
        return 0
    # The lock prevents concurrent switches of the reviewer and concurrent opinions of it.
    reviewer = session.get_one(Reviewer, reviewer_id, populate_existing=True, with_for_update=True)
    known = _known(session, [opinion.variant_id for opinion in opinions], reviewer_id)
    new = {
        (opinion.variant_id, opinion.since_version): opinion
        for opinion in reversed(opinions)
        if (opinion.variant_id, opinion.since_version) not in known
    }
    if not new:
        return 0
    rows = [_decision(opinion, reviewer_id) for opinion in new.values()]
    ids = session.execute(
        insert(Decision).returning(col(Decision.id), sort_by_parameter_order=True), rows
    ).scalars()
    session.execute(
        insert(Opinion),
        [
            {
                "decision_id": decision_id,
                "variant_id": opinion.variant_id,
                "reviewer_id": reviewer_id,
                "since_version": opinion.since_version,
                "verdict": opinion.verdict,
                "suggestion": opinion.suggestion,
                "certainty": opinion.certainty,
                "answer_id": opinion.answer_id,
            }
            for opinion, decision_id in zip(new.values(), ids, strict=True)
        ],
    )
    judged = {variant_id for variant_id, _ in new}
    if reviewer.counts:
        refresh_status(session, judged)
    refresh_priority(session, judged)
    return len(new)


def _known(session: Session, variant_ids: list[int], reviewer_id: int) -> set[tuple[int, int]]:
    query = select(col(Opinion.variant_id), col(Opinion.since_version)).where(
        col(Opinion.reviewer_id) == reviewer_id
    )
    found = rows_with(session, query, col(Opinion.variant_id), variant_ids)
    return {(variant, since) for variant, since in found}


def _decision(opinion: NewOpinion, reviewer_id: int) -> dict[str, Any]:
    accepts = opinion.verdict is Verdict.ACCEPT
    return {
        "variant_id": opinion.variant_id,
        "variant_version": opinion.version,
        "reviewer_id": reviewer_id,
        "verdict": Verdict.ACCEPT if accepts else Verdict.REJECT,
        "reason": "" if accepts else opinion.reason,
        "note": opinion.comment or _NO_COMMENT.get(opinion.verdict, ""),
        "action_id": str(uuid.uuid4()),
        "adjudicates": False,
        "blind": True,
        "guideline_version": GUIDELINE_VERSION,
        "decided_at": now(),
    }


def has_opinions(session: Session) -> bool:
    """Whether the project has any opinions."""
    return session.execute(select(col(Opinion.decision_id)).limit(1)).first() is not None


def model_reviewers(session: Session, *conditions: ColumnElement[bool]) -> list[ModelReviewer]:
    """The models that review and meet the conditions, oldest first."""
    query = (
        select(col(Reviewer.id), col(Reviewer.name), col(Reviewer.counts), decision_count())
        .where(col(Reviewer.kind) == ReviewerKind.MODEL, *conditions)
        .order_by(col(Reviewer.id))
    )
    return [ModelReviewer(*row) for row in session.execute(query)]


def judges(session: Session) -> list[ModelReviewer]:
    """The models that have given opinions, oldest first."""
    # All decisions of a judge are opinions, so the index of a reviewer's decisions serves this.
    of_judge = col(Decision.reviewer_id) == col(Reviewer.id)
    first = select(func.min(col(Decision.id))).where(of_judge).correlate(Reviewer).scalar_subquery()
    opinion = select(col(Opinion.decision_id)).where(col(Opinion.decision_id) == first)
    return model_reviewers(session, opinion.exists())


def find_judge(session: Session, name: str) -> ModelReviewer:
    """The model with this name that has given opinions.

    Raises:
        HedgerowError: there is none.
    """
    found = judges(session)
    for one in found:
        if one.name == name:
            return one
    known = ", ".join(f"'{one.name}'" for one in found) or "none has given an opinion yet"
    raise HedgerowError(f"Expected the name of a judge ({known}), found {name[:100]!r}.")


def judged_by(reviewer_id: int) -> ColumnElement[bool]:
    """SQL: this reviewer has given an opinion on the variant with the anchor's current text."""
    return (
        select(col(Opinion.decision_id))
        .where(
            col(Opinion.variant_id) == col(Variant.id),
            col(Opinion.reviewer_id) == reviewer_id,
            col(Opinion.since_version) == col(Variant.since_version),
        )
        .exists()
    )


def opinions_of(session: Session, variant_id: int) -> list[GivenOpinion]:
    """The opinions on a variant with its anchor's current text, newest first."""
    query = (
        select(Opinion, Decision, Reviewer)
        .join(Decision, col(Decision.id) == Opinion.decision_id)
        .join(Reviewer, col(Reviewer.id) == Opinion.reviewer_id)
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.variant_id) == variant_id,
            col(Opinion.since_version) == col(Variant.since_version),
        )
        .order_by(col(Opinion.decision_id).desc())
    )
    return [
        GivenOpinion(
            reviewer=reviewer.name,
            counts=reviewer.counts,
            verdict=opinion.verdict,
            reason=decision.reason,
            comment=decision.note,
            suggestion=opinion.suggestion,
            certainty=opinion.certainty,
            decided_at=decision.decided_at,
        )
        for opinion, decision, reviewer in session.execute(query)
    ]


def counting_judges(session: Session, variant_id: int) -> list[str]:
    """The names of models that count and have given an opinion on the variant's current text."""
    query = (
        select(col(Reviewer.name))
        .join(Opinion, col(Opinion.reviewer_id) == col(Reviewer.id))
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.variant_id) == variant_id,
            col(Opinion.since_version) == col(Variant.since_version),
            col(Reviewer.counts),
        )
        .order_by(col(Reviewer.id))
    )
    return list(session.execute(query).scalars())


def show_opinions(
    session: Session, variant_id: int, *, reviewer_id: int, own_first: bool
) -> list[GivenOpinion]:
    """Return the opinions on a variant for a person, and record that they have seen them.

    Args:
        own_first: the person must decide first: in blind mode, and if several people are assigned
            to the variant.

    Raises:
        HedgerowError: the person must decide first and has not.
    """
    if own_first and variant_id not in decided_by(session, reviewer_id, [variant_id]):
        raise HedgerowError("You can see second opinions after you have decided on this variant.")
    found = opinions_of(session, variant_id)
    if found and session.get(OpinionLook, (reviewer_id, variant_id)) is None:
        session.add(OpinionLook(reviewer_id=reviewer_id, variant_id=variant_id))
        session.flush()
    return found


# -- A clause about opinions in a reviewing rule --------------------------------------------------


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
