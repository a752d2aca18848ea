"""The doubt of a variant by the models' opinions, which is stored on it and orders a queue.

The most doubtful variants come first: those that a model is unsure about, and those whose opinion
contradicts the diagnostics or another model's.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, bindparam, select, update
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.decisions.storing import chunks
from curation.diagnostics.measures import Flag
from db.models import Diagnostic, Opinion, Reviewer, Variant, Verdict

# -- priority -------------------------------------------------------------------------------------


UNKNOWN_CERTAINTY = 0.5
"""The certainty to assume if a model states none."""

NOT_OF_THE_TEXT = Flag.OVER_THRESHOLD | Flag.ANCHOR_NOT_AFFIRMATIVE
"""Flags that a good variant may well have, so that they contradict no opinion."""


class ModelVerdict(NamedTuple):
    """A model's verdict and its certainty, in [0, 1] or None."""

    verdict: Verdict
    certainty: float | None


def opinion_priority(opinions: Sequence[ModelVerdict], flags: Flag | None) -> float:
    """The doubt of a variant, in [0, 1]; 0 without an opinion.

    The doubt is 1 - certainty, or the mean for several opinions. It becomes 0.5 + doubt / 2 if the
    opinions contradict each other (one accepts the variant as it is, another does not), if one
    accepts a variant whose text is flagged, or if one does not accept a variant without flags.

    Args:
        flags: the variant's flags; None if it is not measured, which contradicts nothing.
    """
    if not opinions:
        return 0.0
    unsure = [
        1 - (UNKNOWN_CERTAINTY if opinion.certainty is None else opinion.certainty)
        for opinion in opinions
    ]
    mean = sum(unsure) / len(unsure)
    return 0.5 + mean / 2 if _contradicted(opinions, flags) else mean


def _contradicted(opinions: Sequence[ModelVerdict], flags: Flag | None) -> bool:
    accepts = {opinion.verdict is Verdict.ACCEPT for opinion in opinions}
    if flags is not None:
        accepts.add(not flags & ~NOT_OF_THE_TEXT)
    return len(accepts) > 1


def refresh_priority(session: Session, variant_ids: Iterable[int]) -> None:
    """Update the stored doubt of these variants by the opinions on their current text.

    Variants without such an opinion get 0.
    """
    for ids in chunks(variant_ids):
        kept = _kept(session, ids)
        if not kept:
            continue
        found = _opinions(session, list(kept))
        flags = _flags(session, list(kept))
        fresh = {
            key: opinion_priority(found[key], Flag(flags[key]) if key in flags else None)
            for key in kept
        }
        changed = [
            {"variant": key, "new_doubt": value}
            for key, value in sorted(fresh.items())
            if value != kept[key]
        ]
        if changed:
            session.connection().execute(
                update(Variant)
                .where(col(Variant.id) == bindparam("variant"))
                .values(doubt=bindparam("new_doubt")),
                changed,
            )


def _kept(session: Session, ids: list[int]) -> dict[int, float]:
    """The stored doubt of the variants that have or had an opinion."""
    judged = (
        select(col(Opinion.decision_id)).where(col(Opinion.variant_id) == col(Variant.id)).exists()
    )
    query = select(col(Variant.id), col(Variant.doubt)).where(
        col(Variant.id).in_(ids), (col(Variant.doubt) != 0) | judged
    )
    return dict(session.execute(query).all())


def _flags(session: Session, ids: list[int]) -> dict[int, int]:
    query = select(col(Diagnostic.variant_id), col(Diagnostic.flags)).where(
        col(Diagnostic.variant_id).in_(ids)
    )
    return dict(session.execute(query).all())


def _opinions(session: Session, ids: list[int]) -> defaultdict[int, list[ModelVerdict]]:
    query = (
        select(col(Opinion.variant_id), col(Opinion.verdict), col(Opinion.certainty))
        .join(Variant, col(Variant.id) == Opinion.variant_id)
        .where(
            col(Opinion.variant_id).in_(ids),
            col(Opinion.since_version) == col(Variant.since_version),
        )
        .order_by(col(Opinion.decision_id))
    )
    found: defaultdict[int, list[ModelVerdict]] = defaultdict(list)
    for variant_id, verdict, certainty in session.execute(query):
        found[variant_id].append(ModelVerdict(verdict, certainty))
    return found


# -- rule clause ----------------------------------------------------------------------------------


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
