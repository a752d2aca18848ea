"""Asking for trainings and carrying them out."""

from sqlalchemy import Engine, func, select
from sqlmodel import Session

from db.engine import reading, writing
from db.execution import execute
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from training.recipe import Recipe
from training.runs import KIND, request_training, work

ANCHORS = 9
"""Anchors of the project that are in the train split."""

THINGS = (
    "kettle ladder violin bridge garden lantern wagon mirror pillow bucket anchor hammer".split()
)
TRIPLES = [
    (f"The {thing} is old.", f"The {thing} is {hedge} old.", f"The {thing} is {negation}.")
    for thing in THINGS
    for hedge in ("probably", "perhaps")
    for negation in ("not old", "new")
]


def ask(engine: Engine, recipe: Recipe, *, release: int | None = None, seed: int = 1) -> int:
    with writing(engine) as session:
        run = request_training(
            session, release_number=release, recipe=recipe, seed=seed, requested_by=None
        )
        return run.id or 0


def train(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {KIND: work})
    with reading(engine) as session:
        return get_run(session, run_id)


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()
