"""What a step's gradients do to the weights: AdamW with a linear schedule, lazy for words.

A step has some hundred of the thirty thousand words a vocabulary has, but a dense optimizer goes
over all of them: their gradients, moments and values were a fifth of MiniLM's step on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from training.finetune.compute.text_encoding import word_embeddings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.nn import Parameter

    from training.recipe.schema import Recipe

MAX_GRADIENT = 1.0
"""Length that a step's gradient is cut to, as in the trainer of transformers."""


def lazy_words(model: SentenceTransformer, recipe: Recipe) -> Parameter | None:
    """The table of word embeddings, set to have gradients of the looked up rows alone.

    To be called before there are replicas of the model. None where the recipe doesn't ask for it,
    the table is not trained, or there is none; Apple's GPUs have no such gradients.
    """
    words = word_embeddings(model)
    if not recipe.lazy_word_embeddings or words is None or not words.weight.requires_grad:
        return None
    if model.device.type == "mps":
        return None
    words.sparse = True
    return words.weight


class ScheduledOptimizer:
    """The optimizers of one training, and their schedules."""

    def __init__(
        self,
        model: SentenceTransformer,
        recipe: Recipe,
        *,
        steps: int,
        words: Parameter | None = None,
    ) -> None:
        """Take the weights that are trained; biases and normalisations do not decay, as usual.

        Args:
            steps: of the training, by whose end the rate is 0.
            words: the weights that `lazy_words` found in this model.
        """
        import torch
        from transformers import get_linear_schedule_with_warmup

        self._weights = [weight for weight in model.parameters() if weight.requires_grad]
        self._words = words
        dense = [weight for weight in self._weights if weight is not words]
        groups = [
            {"params": [p for p in dense if p.ndim > 1], "weight_decay": recipe.weight_decay},
            {"params": [p for p in dense if p.ndim <= 1], "weight_decay": 0.0},
        ]
        # Fused, since it would take a third of a step of MiniLM on a CPU otherwise.
        self._optimizers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                [group for group in groups if group["params"]], lr=recipe.learning_rate, fused=True
            )
        ]
        if words is not None:
            self._optimizers.append(torch.optim.SparseAdam([words], lr=recipe.learning_rate))
        warmup = round(recipe.warmup_ratio * steps)
        self._schedules = [
            get_linear_schedule_with_warmup(optimizer, warmup, steps)
            for optimizer in self._optimizers
        ]

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        rate: float = self._optimizers[0].param_groups[0]["lr"]
        return rate

    def step(self) -> None:
        """Cut the gradients, move the weights by them, and leave none."""
        if self._words is not None and self._words.grad is not None:
            self._words.grad = _of_rows(self._words)
        _cut(self._weights)
        for optimizer, schedule in zip(self._optimizers, self._schedules, strict=True):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            schedule.step()

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold of it."""
        return {
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
            "schedules": [schedule.state_dict() for schedule in self._schedules],
        }

    def go_on(self, state: dict[str, Any]) -> None:
        """From what a checkpoint held."""
        for optimizer, held in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(held)
        for schedule, held in zip(self._schedules, state["schedules"], strict=True):
            schedule.load_state_dict(held)


def _of_rows(words: Parameter) -> Tensor:
    """The gradient with each row once; it comes dense where several processes have added theirs."""
    gradient = words.grad
    assert gradient is not None
    return gradient.coalesce() if gradient.is_sparse else gradient.to_sparse(1)


def _cut(weights: Iterable[Parameter]) -> None:
    """Shorten all gradients together to the greatest length; what is sparse is coalesced."""
    import torch

    gradients = [
        weight.grad.values() if weight.grad.is_sparse else weight.grad
        for weight in weights
        if weight.grad is not None
    ]
    length = torch.nn.utils.get_total_norm(gradients)
    share = (MAX_GRADIENT / (length + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(share.to(gradient.device))
