"""Training on hedges alone, as in the paper's Table 2: most anchors have no negative of their
own."""

from pathlib import Path

import pytest

from hedgerow.losses.families import Family, Member, Role
from tests.training.support.recorder import Recorder
from tests.training.support.trainings import FAMILIES
from training.finetune.curve_names import LOSS
from training.finetune.fitting import Data, finetune
from training.recipe.schema import Loss, Recipe


def hedged(number: int, family: Family) -> Family:
    """With a contradiction for every third anchor."""
    hedges = [member for member in family if member.role in (Role.ANCHOR, Role.HEDGE)]
    contradiction = Member(f"Nothing is older than {number}.", Role.NEGATION, "contradiction")
    return [*hedges, contradiction] if number % 3 == 0 else hedges


HEDGED = [hedged(number, family) for number, family in enumerate(FAMILIES)]
PAIRS = [family[:3] for family in HEDGED]


@pytest.mark.parametrize("loss", ["symmetric", "triples"])
@pytest.mark.parametrize("families", [HEDGED, PAIRS], ids=["some have a negative", "none has"])
def test_other_anchors_are_negatives_enough_to_learn_from(
    tiny_encoder: Path, tmp_path: Path, loss: Loss, families: list[Family]
) -> None:
    recipe = Recipe(
        base_encoder=str(tiny_encoder),
        loss=loss,
        batch_size=6,
        epochs=20,
        max_steps=12,
        learning_rate=5e-3,
        retention=0,
    )
    recorder = Recorder()
    trained = finetune(Data(families), recipe=recipe, seed=1, folder=tmp_path, progress=recorder)
    losses = [value for _, value in sorted(recorder.metrics[LOSS].items())]
    assert trained.triples == 2 * len(families)
    assert sum(losses[-3:]) < sum(losses[:3])
