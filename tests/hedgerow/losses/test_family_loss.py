"""The loss as a module gives the same result as Hedgerow's own training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from hedgerow.losses import FamilyCollator, FamilyLoss
from hedgerow.losses.families import flatten
from tests.hedgerow.losses.support.rows import rows
from tests.training.support.trainings import FAMILIES
from training.finetune.compute.text_encoding import embed
from training.finetune.losses import objective
from training.recipe.schema import Recipe

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def features(batch: dict[str, Any], *columns: str) -> list[dict[str, Any]]:
    """The arguments that the library's trainer passes for a collator's batch."""
    return [
        {
            name.removeprefix(f"{column}_"): value
            for name, value in batch.items()
            if name.startswith(column)
        }
        for column in columns
    ]


def gradients(model: SentenceTransformer) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": "family", "scale": 30.0},
        {"negation_margin": 0.3, "order_weight": 2.0},
    ],
)
def test_it_is_the_loss_of_hedgerows_own_trainings(
    model: SentenceTransformer, changes: dict[str, Any]
) -> None:
    """Equal in value and gradient; without arguments, equal to the preset *standard*."""
    model.eval()  # without dropout
    expected_batch = flatten(FAMILIES)
    recipe = Recipe(**changes)
    expected = objective(recipe, model)(embed(model, expected_batch.texts), expected_batch)
    expected.backward()
    expected_gradients = gradients(model)
    model.zero_grad()
    arguments = {name: value for name, value in changes.items() if name != "loss"}
    if recipe.loss == "family":
        arguments["symmetric"] = False
    batch = FamilyCollator(model.preprocess)(rows())
    loss = FamilyLoss(model, **arguments)(features(batch, "text"), batch["label"])
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(gradients(model), expected_gradients, atol=1e-4, rtol=1e-3)


def test_two_columns_give_the_loss_of_one(model: SentenceTransformer) -> None:
    """Empty prompts only change how texts are grouped."""
    model.eval()
    values = []
    for prompts, columns in ((None, ["text"]), ({"anchor": "", "text": ""}, ["anchor", "text"])):
        batch = FamilyCollator(model.preprocess, prompts=prompts)(rows())
        values.append(FamilyLoss(model)(features(batch, *columns), batch["label"]).item())
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_half_precision_rounds_no_cosine(model: SentenceTransformer) -> None:
    model.eval()
    batch = FamilyCollator(model.preprocess)(rows())
    loss = FamilyLoss(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        embeddings = model(features(batch, "text")[0])["sentence_embedding"]

    class Given(torch.nn.Module):
        def forward(self, _: Any) -> dict[str, torch.Tensor]:
            return {"sentence_embedding": embeddings}

    loss.model = Given()
    expected = loss([{}], batch["label"])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss([{}], batch["label"]), expected)


@pytest.mark.parametrize("labels", [None, torch.zeros(4), torch.zeros(4, 3)])
def test_labels_of_another_collator_are_refused(
    model: SentenceTransformer, labels: torch.Tensor | None
) -> None:
    with pytest.raises(ValueError, match="pass data_collator=FamilyCollator"):
        FamilyLoss(model)([{}], labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0.0}, "Expected scale above 0, found 0.0"),
        ({"scale": float("nan")}, "Expected scale above 0, found nan"),
        ({"negation_margin": 1.5}, "Expected negation_margin from 0 to 1, found 1.5"),
        ({"order_weight": -1.0}, "Expected order_weight from 0, found -1.0"),
    ],
)
def test_numbers_out_of_their_range_are_refused(
    model: SentenceTransformer, arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FamilyLoss(model, **arguments)
