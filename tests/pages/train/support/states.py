"""The train page, and training runs in each of their states, as rows that were never executed."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Engine, select
from sqlmodel import col
from streamlit.testing.v1 import AppTest

from db.columns import now
from db.engine import writing
from db.models import Encoder, RunMetric, RunState, Variant, VariantCosine
from db.runs import get_run
from pages.components.train.section_choice import SECTION, TRAIN
from tests.support.checkout import APP
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import (
    add_own_probe,
    own_probes,
    save_probe_cosines,
)
from training.recipe.schema import Recipe
from training.runs.figures import Part
from training.runs.trainings import request_training

HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text] [link](javascript:alert(1))'


def page(section: str = TRAIN) -> AppTest:
    test = AppTest.from_file(str(APP), default_timeout=60).run()
    test.session_state[SECTION] = section
    return test.switch_page("pages/train.py").run()


def page_text(test: AppTest) -> str:
    assert not test.exception
    return "\n".join(element.value for element in test.text)


def stored_run(
    engine: Engine,
    *,
    state: RunState,
    message: str = "",
    recipe: Recipe | None = None,
    seed: int = 1,
) -> int:
    with writing(engine) as session:
        run = request_training(
            session, release_number=None, recipe=recipe or Recipe(), seed=seed, requested_by=None
        )
        moment = now()
        run.state, run.message, run.attempt = state, message, 1
        run.started_at, run.heartbeat_at = moment - timedelta(minutes=2), moment
        run.lease_until = moment + timedelta(hours=1)
        return run.id


HELD_OUT = {
    "before": {"ranked": 0.5, "drift": 0.0, "retrieval": 0.8},
    "after": {"ranked": 0.925, "drift": 0.02, "retrieval": 0.75},
    "of": {"ranked": 1234, "drift": 200, "retrieval": 300},
}


def store_looks(engine: Engine, run_id: int) -> None:
    """Two evaluations on the held-out part."""
    figures = {
        "ranked": 0.5,
        "families": 0.2,
        "questions": 0.3,
        "ranked:word>verbal": 0.5,
        "drift": 0.0,
        "sts": 0.8,
        "cosine:negation": 0.9,
        "cosine:negation:sd": 0.1,
        "cosine:hedge": 0.9,
    }
    with writing(engine) as session:
        for step in (0, 20):
            for name, value in figures.items():
                session.add(RunMetric(run_id=run_id, name=name, step=step, value=value))
            session.add(RunMetric(run_id=run_id, name="epoch", step=step, value=step / 20))


def finished_run(engine: Engine) -> int:
    """A finished training run with its metrics, as rows."""
    run_id = stored_run(engine, state=RunState.DONE, message="Done.")
    with writing(engine) as session:
        ids = []
        for name in ("before", "after"):
            encoder = Encoder(name=name, fingerprint=name)
            session.add(encoder)
            session.flush()
            ids.append(encoder.id)
        add_own_probe(session, anchor=HOSTILE, text=HOSTILE + " too")
        probes = [
            stored.id for stored in ensure_bundled(session, FIGURE_1_SET) + own_probes(session)
        ]
        variants = session.execute(select(col(Variant.id))).scalars().all()
        for place, key in enumerate(ids):
            save_probe_cosines(session, dict.fromkeys(probes, 0.9 - 0.2 * place), encoder_id=key)
            for number, variant in enumerate(variants):
                cosine = 0.9 - 0.02 * number - 0.1 * place
                session.add(VariantCosine(encoder_id=key, variant_id=variant, cosine=cosine))
        run = get_run(session, run_id)
        run.result = {
            "run": run_id,
            "model": f"{run.folder}/model",
            "release": 1,
            "triples": 18,
            "steps": 3,
            "kept_step": 2,
            "seconds": 61.0,
            "held_out": HELD_OUT,
            "before_encoder_id": ids[0],
            "encoder_id": ids[1],
            "sampled": {part.value: {"measured": 27, "of": 9_000} for part in Part},
        }
    return run_id
