"""The accuracy of a language model on Yes/No questions, by the likelihood of both answers.

This module loads PyTorch: import it inside the functions that measure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import torch  # noqa: TID253

from training.llm.examples import ANSWERS, Choice
from training.llm.figures import RIGHT, RIGHT_OF

BATCH = 16
"""Questions per batch."""


def shares_right(
    model: Any, choices: Sequence[Choice], *, pad: int, check: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """The share of questions whose correct answer is the more likely one, from 0 to 1: over all
    questions (`RIGHT`), and over those with each correct answer (`RIGHT_OF`), if there are any.

    The answers are compared by their first differing token. If both are equally likely, which
    happens in bfloat16, the question counts half.

    Args:
        model: in evaluation mode.
        choices: at least one question.
        pad: the token for padding shorter questions on the left.
        check: called before each batch; may raise to stop.
    """
    by_length = sorted(choices, key=lambda one: len(one.ids))
    points: dict[int, list[float]] = {place: [] for place in range(len(ANSWERS))}
    for start in range(0, len(by_length), BATCH):
        check()
        batch = by_length[start : start + BATCH]
        logits = _next_token(model, [one.ids for one in batch], pad=pad)
        first = torch.tensor([one.first for one in batch], device=logits.device)
        right = torch.tensor([[one.right] for one in batch], device=logits.device)
        of_answers = logits.gather(1, first).float()
        own, other = of_answers.gather(1, right), of_answers.gather(1, 1 - right)
        gained = (own > other).float() + 0.5 * (own == other).float()
        for one, point in zip(batch, gained.flatten().tolist(), strict=True):
            points[one.right].append(point)
    every = [point for found in points.values() for point in found]
    return {RIGHT: fmean(every)} | {
        RIGHT_OF[answer]: fmean(points[place])
        for place, answer in enumerate(ANSWERS)
        if points[place]
    }


def _next_token(model: Any, inputs: Sequence[list[int]], *, pad: int) -> torch.Tensor:
    """The logits of the token that follows each text, shape (len(inputs), vocabulary)."""
    width = max(map(len, inputs))
    ids = torch.tensor([[pad] * (width - len(text)) + text for text in inputs])
    mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in inputs])
    given = {"input_ids": ids, "attention_mask": mask}
    known = inspect.signature(type(_bare(model)).forward).parameters
    if "position_ids" in known:
        given["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
    last: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in known else {}
    with torch.no_grad():
        on_device = {name: value.to(model.device) for name, value in given.items()}
        return model(**on_device, **last, use_cache=False).logits[:, -1]


def _bare(model: Any) -> Any:
    """The model inside peft's wrapper."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
