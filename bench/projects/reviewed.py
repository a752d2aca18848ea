"""A synthetic project in which people have decided on a tenth of the variants twice."""

import random
import uuid
from pathlib import Path

from sqlalchemy import Engine, insert, select
from sqlmodel import col

from bench.projects.synthetic import make_project
from curation.decisions.reviewers import ensure_reviewer
from db.columns import now
from db.engine import batched, writing
from db.models import Decision, Variant, Verdict

PEOPLE = ("Ada", "Ben", "Chloë", "Dan")
TWICE, ONCE = 0.1, 0.1
"""The shares of variants that two people have decided on, and that one person has decided on."""

ACCEPTED, FOLLOWED = 0.8, 0.9
"""The share of variants that are acceptable, and the share of verdicts that are correct."""


def make_reviewed(home: Path, *, variants: int) -> Engine:
    """A project with this many variants, most of which a model has decided on."""
    engine = make_project(home, variants=variants, decided=0.8)
    dice, moment = random.Random(0), now()
    with writing(engine) as session:
        people = [ensure_reviewer(session, name).id for name in PEOPLE]
        chosen = select(col(Variant.id), col(Variant.random_key)).where(
            col(Variant.random_key) < TWICE + ONCE
        )
        rows = []
        for variant_id, key in session.execute(chosen.order_by(col(Variant.id))):
            right = dice.random() < ACCEPTED
            for who in dice.sample(people, 2 if key < TWICE else 1):
                accepts = right == (dice.random() < FOLLOWED)
                rows.append(
                    {
                        "variant_id": variant_id,
                        "variant_version": 1,
                        "reviewer_id": who,
                        "verdict": Verdict.ACCEPT if accepts else Verdict.REJECT,
                        "reason": "" if accepts else "wrong_type",
                        "action_id": str(uuid.uuid4()),
                        "blind": True,
                        "shown_at": moment,
                        "decided_at": moment,
                    }
                )
        for some in batched(rows):
            session.execute(insert(Decision), list(some))
    return engine
