"""Requesting and executing training runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.execution import execute
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from hedgerow.losses.families import Family, Member, Role
from training.finetune.fitting import Data, finetune
from training.recipe.schema import Recipe
from training.runs.trainings import KIND, request_training, work

if TYPE_CHECKING:
    from training.finetune.progress import Progress

ANCHORS = 9
"""Number of anchors of the project in the train split."""

THINGS = (
    "kettle ladder violin bridge garden lantern wagon mirror pillow bucket anchor hammer".split()
)


def family(thing: str) -> list[Member]:
    """An anchor with a paraphrase, two hedges and two negations: six triples."""
    return [
        Member(f"The {thing} is old.", Role.ANCHOR),
        Member(f"The {thing} is not new.", Role.PARAPHRASE, "negated_antonym"),
        Member(f"The {thing} is probably old.", Role.HEDGE, "word"),
        Member(f"I think the {thing} is old.", Role.HEDGE, "phrase"),
        Member(f"The {thing} is not old.", Role.NEGATION, "verbal"),
        Member(f"The {thing} is new.", Role.NEGATION, "lexical"),
    ]


FAMILIES = [family(thing) for thing in THINGS]
HELD_OUT = [family(thing) for thing in ("candle", "barrel", "window", "basket")]


def run(
    folder: Path,
    recipe: Recipe,
    *,
    seed: int = 1,
    families: Sequence[Family] = FAMILIES,
    held_out: Sequence[Family] = (),
    progress: Progress | None = None,
) -> Path:
    """Train on families. Returns the model's folder."""
    from training.finetune.progress import Progress

    data = Data(families, held_out)
    return finetune(
        data, recipe=recipe, seed=seed, folder=folder, progress=progress or Progress()
    ).folder


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def assert_nothing_left(folder: Path) -> None:
    assert not folder.exists() or list(folder.iterdir()) == []


def ask(engine: Engine, recipe: Recipe, *, release: int | None = None, seed: int = 1) -> int:
    with writing(engine) as session:
        run = request_training(
            session, release_number=release, recipe=recipe, seed=seed, requested_by=None
        )
        return run.id


def change_recipe(engine: Engine, run_id: int, **change: object) -> None:
    """Give a stored run another recipe without any checks."""
    with writing(engine) as session:
        run = get_run(session, run_id)
        run.parameters = run.parameters | {"recipe": run.parameters["recipe"] | change}


def train(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {KIND: work})
    with reading(engine) as session:
        return get_run(session, run_id)


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()
