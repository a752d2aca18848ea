"""Asking for trainings and carrying them out."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from db.engine import reading, writing
from db.errors import RunCancelled
from db.execution import execute
from db.models import Run
from db.runs import get_run
from db.settings import Settings
from training.finetune.fitting import Data, finetune
from training.finetune.losses import Family, Member, Role
from training.finetune.progress import Progress, Silent
from training.recipe.schema import Recipe
from training.runs.trainings import KIND, request_training, work

ANCHORS = 9
"""Anchors of the project that are in the train split."""

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


class Recorder(Silent):
    """Notes what a training tells; may raise at a given look or do something at a step."""

    def __init__(self, *, cancel_at_check: int = 0, on_update: Callable[[int], None] | None = None):
        self.cancel_at_check = cancel_at_check
        self.on_update = on_update
        self.checks = 0
        self.updates: list[tuple[int, int]] = []
        self.metrics: dict[str, dict[int, float]] = {}

    def update(self, step: int, total: int, message: str) -> None:
        self.updates.append((step, total))
        if self.on_update:
            self.on_update(step)

    def metric(self, step: int, name: str, value: float) -> None:
        self.metrics.setdefault(name, {})[step] = value

    def goes_on(self, step: int) -> None:
        for points in self.metrics.values():
            for later in [told for told in points if told > step]:
                del points[later]

    def check(self) -> None:
        self.checks += 1
        if self.checks == self.cancel_at_check:
            raise RunCancelled


def run(
    folder: Path,
    recipe: Recipe,
    *,
    seed: int = 1,
    families: Sequence[Family] = FAMILIES,
    held_out: Sequence[Family] = (),
    progress: Progress | None = None,
) -> Path:
    """Train on families; the model's folder."""
    data = Data(families, held_out)
    return finetune(
        data, recipe=recipe, seed=seed, folder=folder, progress=progress or Recorder()
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
    """Give a stored run another recipe, which nothing has checked."""
    with writing(engine) as session:
        run = get_run(session, run_id)
        run.parameters = run.parameters | {"recipe": run.parameters["recipe"] | change}


def train(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {KIND: work})
    with reading(engine) as session:
        return get_run(session, run_id)


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()
