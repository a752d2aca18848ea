"""A reviewed project with conflicts, settled conflicts, notes, marks and a calibrated judge."""

import random
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from bench.projects.reviewed import make_reviewed
from curation.decisions.notes import add_note
from curation.decisions.storing import bulk_store_decisions, refresh_status
from curation.diagnostics.opinions import NewOpinion, ensure_judge, store_opinions
from curation.generation.prompts import JUDGE, prompt_versions, seed_prompts
from curation.review.calibration.sample import SampleRequest, pick_sample, store_sample
from curation.review.discussing import mark
from db.columns import now
from db.engine import writing
from db.models import (
    Answer,
    Decision,
    Reviewer,
    ReviewerKind,
    Run,
    RunState,
    Status,
    Variant,
    Verdict,
)

SETTLED = 0.2
"""The share of conflicts that a person has settled."""

ONE_REMARK_FOR = 700
"""The number of variants per note, and per mark for discussion."""

SAMPLED_OF_EACH = 150
"""The number of variants of each type in the calibration sample."""

AGREES = 0.85
"""The share of the sample on which the judge agrees with people."""


def make_disputed(home: Path, *, variants: int) -> Engine:
    """A project with this many variants. About one in fifty is in conflict."""
    engine = make_reviewed(home, variants=variants)
    with writing(engine) as session:
        people = list(
            session.execute(
                select(col(Reviewer.id)).where(col(Reviewer.kind) == ReviewerKind.PERSON)
            ).scalars()
        )
        decided = select(col(Decision.variant_id)).where(col(Decision.reviewer_id).in_(people))
        refresh_status(session, session.execute(decided.distinct()).scalars())
        _settle(session, people[0])
        _remark(session, people, count=variants // ONE_REMARK_FOR)
        _calibrate(session, people)
    return engine


def _verdict(variant: tuple[int, int], reviewer_id: int, *, accepts: bool) -> dict[str, Any]:
    """A decision on a variant.

    Args:
        variant: the id and the version of the variant.
    """
    moment = now()
    return {
        "variant_id": variant[0],
        "variant_version": variant[1],
        "reviewer_id": reviewer_id,
        "verdict": Verdict.ACCEPT if accepts else Verdict.REJECT,
        "reason": "" if accepts else "wrong_type",
        "action_id": str(uuid.uuid4()),
        "blind": True,
        "shown_at": moment,
        "decided_at": moment,
    }


def _settle(session: Session, reviewer_id: int) -> None:
    conflicts = (
        select(col(Variant.id), col(Variant.version))
        .where(col(Variant.status) == Status.CONFLICT)
        .order_by(col(Variant.id))
    )
    dice = random.Random(0)
    rows = [
        _verdict((key, version), reviewer_id, accepts=dice.random() < 0.5) | {"adjudicates": True}
        for key, version in session.execute(conflicts)
        if dice.random() < SETTLED
    ]
    bulk_store_decisions(session, rows)


def _remark(session: Session, people: Sequence[int], *, count: int) -> None:
    """Add notes and marks to variants throughout the project."""
    query = select(col(Variant.id)).order_by(col(Variant.random_key).desc()).limit(2 * count)
    ids = session.execute(query).scalars().all()
    for number, key in enumerate(ids):
        who, text = people[number % len(people)], f"Remark {number} on the scope"
        if number % 2:
            add_note(session, key, reviewer_id=who, text=text)
        else:
            mark(session, key, reviewer_id=who, remark=text)


def _calibrate(session: Session, people: Iterable[int]) -> None:
    """Add a sample with independent verdicts of two people and the opinions of one judge."""
    request = SampleRequest(size=SAMPLED_OF_EACH)
    uids = pick_sample(session, request)
    store_sample(session, request, uids)
    query = select(Variant).where(col(Variant.uid).in_(uids)).order_by(col(Variant.id))
    variants = session.execute(query).scalars().all()
    one, other = sorted(people)[:2]
    dice = random.Random(1)
    right = {variant.id: dice.random() < 0.8 for variant in variants}
    rows = [
        _verdict((variant.id, variant.version), who, accepts=right[variant.id])
        for variant in variants
        for who in (one, other)
    ]
    seed_prompts(session)
    judge = ensure_judge(session, "calibrated-judge", 1)
    run = Run(kind="judge", parameters={}, state=RunState.DONE)
    session.add(run)
    session.flush()
    prompt = prompt_versions(session, JUDGE)[0].id
    opinions = []
    for variant in variants:
        answer = Answer(
            run_id=run.id,
            anchor_id=variant.anchor_id,
            anchor_revision=variant.anchor_revision,
            prompt_version_id=prompt,
        )
        session.add(answer)
        session.flush()
        accepts = right[variant.id] == (dice.random() < AGREES)
        opinions.append(
            NewOpinion(
                variant.id,
                variant.version,
                variant.since_version,
                Verdict.ACCEPT if accepts else Verdict.REJECT,
                "" if accepts else "wrong_type",
                "Because.",
                "",
                dice.random(),
                answer.id,
            )
        )
    store_opinions(session, opinions, reviewer_id=judge.id)
    bulk_store_decisions(session, rows)
