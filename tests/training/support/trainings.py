"""Requesting and executing training runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from curation.actions import Action, OpenProject, Wanted
from db.engine import reading, writing
from db.execution import execute
from db.models import Run, Split
from db.runs import get_run
from db.settings import Settings, load_settings
from tests.curation.support.families import add_plain_family, add_variant
from tests.support.databases import stored_run
from tests.support.factories import add_anchor
from training.encoder_run.training_run import KIND, request_training, work
from training.finetune.finetuning import Data, Trained, finetune
from training.losses.families import Family, Member, Role
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from tests.training.support.recorder import Recorder
    from training.finetune.progress import Progress

T = TypeVar("T")

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


def tiny_recipe(encoder: Path) -> Recipe:
    """Three steps."""
    return Recipe(
        base_encoder=str(encoder),
        batch_size=4,
        max_steps=3,
        learning_rate=1e-3,
        dropout=None,
        soup=1,
        lora_rank=None,
    )


def recorder(**how: Any) -> Recorder:
    """Records a training. Loads PyTorch."""
    from tests.training.support.recorder import Recorder

    return Recorder(**how)


def fitted(
    folder: Path,
    recipe: Recipe,
    *,
    seed: int = 1,
    families: Sequence[Family] = FAMILIES,
    held_out: Sequence[Family] = (),
    progress: Progress | None = None,
    keep_checkpoint: bool = False,
) -> Trained:
    """Train on families."""
    return finetune(
        Data(families, held_out),
        recipe=recipe,
        seed=seed,
        folder=folder,
        progress=progress or recorder(),
        keep_checkpoint=keep_checkpoint,
    )


def run(folder: Path, recipe: Recipe, **how: Any) -> Path:
    """Train on families. Returns the model's folder."""
    return fitted(folder, recipe, **how).folder


def weights(model: Path) -> bytes:
    return (model / "model.safetensors").read_bytes()


def assert_nothing_left(folder: Path) -> None:
    assert not folder.exists() or list(folder.iterdir()) == []


def add_families(session: Session) -> None:
    """Nine families for training, one held out, and one that nobody has decided on."""
    for number in range(ANCHORS):
        add_plain_family(session, number, split=Split.TRAIN)
    add_plain_family(session, ANCHORS, split=Split.TEST)
    pending = add_anchor(session, "The window is open.")
    add_variant(session, pending, "verbal", "The window is not open.")
    add_variant(session, pending, "word", "The window is probably open.")


def ask(engine: Engine, recipe: Recipe, *, release: int | None = None, seed: int = 1) -> int:
    run = request_training(
        engine, release_number=release, recipe=recipe, seed=seed, requested_by=None
    )
    return run.id


def change_recipe(engine: Engine, run_id: int, **change: object) -> None:
    """Give a stored run another recipe without any checks."""
    with writing(engine) as session:
        run = get_run(session, run_id)
        run.parameters = run.parameters | {"recipe": run.parameters["recipe"] | change}


def train(engine: Engine, settings: Settings, run_id: int) -> Run:
    execute(engine, settings, run_id, {KIND: work})
    return stored_run(engine, run_id)


def read(engine: Engine, query: Callable[..., T], *given: object, **how: object) -> T:
    """The result of a query in a session of its own: ``read(engine, get_run, 1)``."""
    with reading(engine) as session:
        return query(session, *given, **how)


def write(engine: Engine, change: Callable[..., T], *given: object, **how: object) -> T:
    """The same for a change, which is stored."""
    with writing(engine) as session:
        return change(session, *given, **how)


def perform(
    engine: Engine,
    action: Action[Wanted, T],
    wanted: Wanted,
    settings: Settings | None = None,
    **keys: str,
) -> T:
    """What an action returns in this project, where nobody in particular acts with these keys."""
    return action.perform(OpenProject(settings or load_settings(), engine, keys=keys), wanted)


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()
