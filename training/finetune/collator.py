"""The collator that builds a step's batch: families with roles, and texts for distillation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.errors import HedgerowError
from hedgerow.losses.families import Family, flatten
from training.data.families import with_prompts
from training.finetune.course import Course
from training.recipe.schema import Recipe


class FamilyCollator:
    """A data collator: item k of the data set is the number of step k.

    A batch depends only on the seed and the step, so a resumed run sees the same batches.
    """

    def __init__(self, course: Course, recipe: Recipe) -> None:
        self._course, self._recipe = course, recipe

    def __call__(self, items: Sequence[int]) -> dict[str, Any]:
        """The batch of the one step in `items`.

        Returns:
            The fields of `losses.Batch` by name; `step`, the number of the step, from 1 on; and
            `more`, texts whose embeddings distillation compares with the base encoder's.

        Raises:
            HedgerowError: no batch without shared texts is possible.
        """
        (step,) = items
        distillation = self._course.distillation
        more = distillation.draw(step) if distillation else []
        return {"step": step, "more": more, **flatten(self._families(step))._asdict()}

    def _families(self, step: int) -> list[Family]:
        course, recipe = self._course, self._recipe
        rows = course.batches.of(step)
        if not rows:
            raise HedgerowError(
                f"Could not build a batch of {recipe.batch_size} {recipe.rows} without a shared "
                "text; lower batch_size."
            )
        return [with_prompts(row, recipe) for row in rows]
