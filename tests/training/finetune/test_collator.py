"""The batch of a step: families with their roles, by the number of the step."""

from __future__ import annotations

import pytest

from db.errors import HedgerowError
from hedgerow.losses.families import Family, Role
from tests.training.support.trainings import FAMILIES
from training.data.sampling import FamilyBatches, TripleBatches, as_triples
from training.finetune.collator import FamilyCollator
from training.finetune.course import Course
from training.recipe.schema import Recipe

SIZE = 4


def collator(rows: list[Family] = FAMILIES) -> FamilyCollator:
    course = Course(FamilyBatches(rows, size=SIZE, seed=1), steps=3)
    return FamilyCollator(course, Recipe(batch_size=SIZE))


def test_a_batch_has_each_text_once_with_its_family_and_role() -> None:
    batch = collator()([1])
    assert len(batch["texts"]) == len(set(batch["texts"])) == len(batch["text"])
    assert batch["family"].unique().tolist() == list(range(SIZE))
    anchors = [
        batch["texts"][text]
        for text, role in zip(batch["text"].tolist(), batch["role"].tolist(), strict=True)
        if role == Role.ANCHOR
    ]
    assert len(anchors) == SIZE and set(anchors) <= {family[0].text for family in FAMILIES}
    assert (batch["step"], batch["more"]) == (1, [])


def test_a_batch_follows_from_its_step_alone() -> None:
    first, second = collator(), collator()
    texts = [first([step])["texts"] for step in (1, 2, 3)]
    assert [second([step])["texts"] for step in (3, 1)] == [texts[2], texts[0]]
    assert len({text for batch in texts for text in batch}) == sum(map(len, texts))


def test_a_batch_that_cannot_be_made_is_refused_with_one_sentence() -> None:
    same = as_triples(FAMILIES[:1])
    course = Course(TripleBatches(same, size=SIZE, seed=1), steps=3)
    with pytest.raises(HedgerowError, match="a batch of 4 triples without a shared text"):
        FamilyCollator(course, Recipe(batch_size=SIZE, loss="triples"))([1])
