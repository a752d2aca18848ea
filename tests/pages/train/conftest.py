"""The Train page at its sections, and training runs in each of their states, as rows that were
never executed."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlmodel import Session, col
from streamlit.testing.v1 import AppTest

from curation.release.freezing import list_releases
from db.columns import now
from db.engine import writing
from db.models import Encoder, Run, RunMetric, RunState, Split, Variant, VariantCosine
from db.runs import get_run
from db.settings import HUB_TOKEN, Settings
from pages.components.shared import page_runs
from pages.components.shared.shell.open_project import tell
from pages.components.train import language_sections as language_choice
from pages.components.train import training_runs
from pages.components.train.training_runs import SECTION, TRAIN
from tests.curation.support.families import add_plain_family
from tests.pages.looks import opened
from tests.support.databases import Fill
from tests.support.factories import freeze
from training.encoder_run.training_run import store_training
from training.evaluation.figures import Part
from training.evaluation.probe_sets import FIGURE_1_SET, ensure_bundled
from training.evaluation.probes import add_own_probe, own_probes, save_probe_cosines
from training.recipe.schema import Recipe

HOSTILE = '<img src=x onerror="alert(1)"> **bold** $x^2$ :red[text] [link](javascript:alert(1))'


def page(section: str = TRAIN, **address: str) -> AppTest:
    return opened("train", {SECTION: section}, **address)


def language_page(section: str = language_choice.TRAIN, **state: object) -> AppTest:
    return opened(
        "train",
        {training_runs.SIDE: training_runs.LANGUAGE, language_choice.SECTION: section} | state,
    )


def add_metrics(session: Session, run_id: int, step: int, figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        session.add(RunMetric(run_id=run_id, name=name, step=step, value=value))


@pytest.fixture
def project(app_engine: Engine, fill: Fill) -> Engine:
    """Nine accepted families in the training part, and no release yet."""

    def made(session: Session) -> None:
        for number in range(9):
            add_plain_family(session, number, split=Split.TRAIN)

    fill(app_engine, made)
    return app_engine


@pytest.fixture
def released(project: Engine) -> Engine:
    """The same with a release, which also has a family for validation."""
    tell(add_plain_family, 20, split=Split.VALIDATION)
    tell(freeze)
    return project


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The environments of the processes that the page starts, without the settings."""
    found: list[dict[str, str]] = []

    def start(settings: Settings, run: Run, environment: Mapping[str, str] | None = None) -> None:
        found.append(dict(environment or {}))

    monkeypatch.setattr(page_runs, "start_process", start)
    return found


def stored_run(
    engine: Engine,
    *,
    state: RunState,
    message: str = "",
    recipe: Recipe | None = None,
    seed: int = 1,
) -> int:
    with writing(engine) as session:
        if not list_releases(session):
            freeze(session)
        run = store_training(
            session, release_number=None, recipe=recipe or Recipe(), seed=seed, requested_by=None
        )
        moment = now()
        run.state, run.message, run.attempt = state, message, 1
        run.started_at, run.heartbeat_at = moment - timedelta(minutes=2), moment
        run.lease_until = moment + timedelta(hours=1)
        return run.id


def store_looks(engine: Engine, run_id: int) -> None:
    """Two evaluations on the held-out part."""
    figures = {"ranked": 0.5, "families": 0.2, "questions": 0.3, "ranked:word>verbal": 0.5}
    figures |= {"drift": 0.0, "sts": 0.8, "cosine:hedge": 0.9}
    figures |= {"cosine:negation": 0.9, "cosine:negation:sd": 0.1}
    for step in (0, 20):
        tell(add_metrics, run_id, step, figures | {"epoch": step / 20})


def add_encoders(session: Session, *names: str) -> list[int]:
    rows = [Encoder(name=name[:300], fingerprint=name[:60]) for name in names]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


def finished_run(engine: Engine) -> int:
    """A finished training run with its metrics, as rows."""
    run_id = stored_run(engine, state=RunState.DONE, message="Done.")
    with writing(engine) as session:
        ids = add_encoders(session, "before", "after")
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
            "held_out": {
                "before": {"ranked": 0.5, "drift": 0.0, "retrieval": 0.8},
                "after": {"ranked": 0.925, "drift": 0.02, "retrieval": 0.75},
                "of": {"ranked": 1234, "drift": 200, "retrieval": 300},
            },
            "before_encoder_id": ids[0],
            "encoder_id": ids[1],
            "sampled": {part.value: {"measured": 27, "of": 9_000} for part in Part},
        }
    return run_id


@pytest.fixture
def no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of the tests may have a login on the Hub."""
    from huggingface_hub import constants

    monkeypatch.delenv(HUB_TOKEN, raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
