"""Checking that a release has enough data for a recipe, before a run is stored."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy.orm import Session

from curation.release.freezing import get_release
from db.errors import HedgerowError
from db.models import Split
from training.data.composition import Composition, composition
from training.data.families import training_families
from training.finetune.setup import rows_of
from training.recipe.plan import TrainingPlan
from training.recipe.schema import Recipe
from training.studies.designs import SPARE


def require_enough(
    session: Session,
    whole: TrainingPlan,
    recipe: Recipe,
    *,
    seed: int,
    providers: Collection[str] = (),
) -> None:
    """Refuse a recipe that leaves too few anchors for a batch, or none.

    Args:
        whole: what a training on this release would work on without a recipe's limits.
        providers: whose variants alone take part; none means all.

    Raises:
        HedgerowError: the recipe leaves too few.
    """
    left = left_by(
        recipe, whole, composed=lambda: composition(session, whole.release), providers=providers
    )
    if _might_draw_too_few(left, recipe):
        key = get_release(session, whole.release).id
        families = training_families(
            session, key, split=Split.TRAIN, recipe=recipe, providers=providers
        )
        rows_of(families, recipe=recipe, seed=seed)


def left_by(
    recipe: Recipe,
    whole: TrainingPlan,
    *,
    composed: Callable[[], Composition],
    providers: Collection[str] = (),
) -> TrainingPlan:
    """The data that a recipe leaves, if it is enough for training.

    The contents of a small sample (`max_triples`) are not checked here. `require_enough` does that
    with the texts.

    Args:
        whole: what a training without a recipe's limits would work on.
        composed: returns the composition of the train split; called only if any of it is left out.
        providers: whose variants alone take part; none means all.

    Raises:
        HedgerowError: the recipe leaves too few.
    """
    if not whole.triples and recipe.data != "hedging":  # with it, negatives are other anchors
        where = (
            "The set of accepted variants" if whole.release is None else f"Release {whole.release}"
        )
        raise HedgerowError(
            f"{where} has no triples to train on; accept a hedge or paraphrase and a negation of "
            "the same anchor, then create a new release."
        )
    left = whole
    if recipe.leaves_out_kinds or providers:
        left = composed().left_by(recipe, providers)
    _require_batch(left, recipe)
    return left


def _require_batch(left: TrainingPlan, recipe: Recipe) -> None:
    if not left.anchors:
        raise HedgerowError(
            "Expected a recipe that leaves anchors to train on, found one that leaves none: no "
            "anchor keeps both a positive and a negative; exclude less (data, sources, types)."
        )
    found = left.families(recipe)
    if found < recipe.batch_size:
        where = "" if found == left.anchors else f" per epoch, of {left.anchors:,}"
        raise HedgerowError(
            f"Expected at least {recipe.batch_size} anchors with a positive and a negative for a "
            f"batch, found {found:,}{where}; lower batch_size, or exclude less."
        )


def _might_draw_too_few(left: TrainingPlan, recipe: Recipe) -> bool:
    """Whether a sample of `max_triples` is so small that it may not fill a batch."""
    sampled = recipe.max_triples or left.triples
    families = left.families(recipe)
    return left.triples > sampled and families * sampled < SPARE * recipe.batch_size * left.triples
