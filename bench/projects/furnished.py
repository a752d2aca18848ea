"""A synthetic project with data for every page: a release, a trained encoder, notes and people."""

import random
from pathlib import Path

from sqlalchemy import Engine, insert, select
from sqlalchemy.orm import Session
from sqlmodel import col

from bench.projects.generated import add_calls
from bench.projects.synthetic import make_project
from curation.decisions.reviewers import ensure_reviewer
from curation.release.freezing import create_release
from curation.review import deciding
from db.columns import now
from db.engine import writing
from db.models import Encoder, Note, Run, RunMetric, RunState, Variant, VariantCosine
from training.encoder_run.training_run import DEFAULT_SEED, store_training
from training.evaluation.figures import Part, count_part, sample
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import save_probe_cosines
from training.recipe.schema import Recipe

PEOPLE = ("Ada", "Ben", "Chloë")
DECIDED_BY_PEOPLE = 300
NOTES = 200
STEPS = 150


def make_furnished(home: Path, *, variants: int) -> Engine:
    """A project with this many variants, four fifths of them decided, and with a release."""
    engine = make_project(home, variants=variants, decided=0.8)
    with writing(engine) as session:
        add_calls(session)
    release = create_release(engine, name="Bench").release
    with writing(engine) as session:
        run = store_training(
            session,
            release_number=release.number,
            recipe=Recipe(),
            seed=DEFAULT_SEED,
            requested_by=None,
        )
    with writing(engine) as session:
        _finish(session, session.get_one(Run, run.id), release.id)
        _let_people_work(session)
    return engine


def _finish(session: Session, run: Run, release_id: int) -> None:
    """Store the result of the training run as its process would. The cosines are random."""
    before = session.execute(select(Encoder).order_by(col(Encoder.id))).scalars().first()
    assert before is not None
    after = Encoder(name=f"run {run.id}", fingerprint="trained", base_id=before.id, run_id=run.id)
    session.add(after)
    session.flush()
    sampled = {}
    for part in Part:
        ids = sample(session, release_id, part)
        sampled[part.value] = {"measured": len(ids), "of": count_part(session, release_id, part)}
        rows = [
            {"encoder_id": after.id, "variant_id": key, "cosine": random.Random(key).random()}
            for key in ids
        ]
        if rows:
            session.execute(insert(VariantCosine), rows)
    probes = [stored.id for stored in ensure_bundled(session, FIGURE_1_SET)]
    for encoder, cosine in ((before, 0.8), (after, 0.5)):
        save_probe_cosines(session, dict.fromkeys(probes, cosine), encoder_id=encoder.id)
    for step in range(1, STEPS + 1):
        session.add(RunMetric(run_id=run.id, name="loss", step=step, value=2 / step))
    run.state, run.finished_at = RunState.DONE, now()
    run.step = run.total = STEPS
    run.result = {
        "run": run.id,
        "model": f"{run.folder}/model",
        "release": 1,
        "triples": 1000,
        "steps": STEPS,
        "seconds": 60.0,
        "before_encoder_id": before.id,
        "encoder_id": after.id,
        "sampled": sampled,
    }


def _let_people_work(session: Session) -> None:
    """Have one, two or three people decide on some variants, and add notes to some of them."""
    people = [ensure_reviewer(session, name).id for name in PEOPLE]
    query = select(Variant).order_by(col(Variant.random_key)).limit(DECIDED_BY_PEOPLE)
    for number, variant in enumerate(session.execute(query).scalars().all()):
        for reviewer_id in people[: 1 + number % len(people)]:
            session.refresh(variant)
            deciding.accept(session, deciding.shown(variant), reviewer_id=reviewer_id)
        if number < NOTES:
            session.add(Note(variant_id=variant.id, reviewer_id=people[0], text=f"Remark {number}"))


def decide_one(engine: Engine, *, number: int) -> None:
    """Change the data: one person accepts one pending variant.

    Args:
        number: the position of the variant among the pending variants.
    """
    with writing(engine) as session:
        query = select(Variant).where(col(Variant.status) == "pending").order_by(col(Variant.id))
        variant = session.execute(query.offset(number).limit(1)).scalar_one()
        ada = ensure_reviewer(session, PEOPLE[0]).id
        deciding.accept(session, deciding.shown(variant), reviewer_id=ada)
