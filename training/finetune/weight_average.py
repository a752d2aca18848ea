"""The mean of the weights of several trainings of one encoder.

Trainings from the same weights end up near enough to each other that the mean of what they come to
errs no more than each of them, often less (Wortsman et al. 2022, *Model soups*), and costs no more
than one when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from training.finetune.adapters import ADAPTER, changed_layers

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


class WeightAverage:
    """What has been added up so far, and the weights that each training begins with.

    Attributes:
        trainings: how many there are in all.
        added: how many are in the sum.
    """

    def __init__(self, model: SentenceTransformer, trainings: int) -> None:
        """Take the model as each training is to find it. Of one training nothing is kept."""
        self.trainings, self.added = trainings, 0
        self._sum: dict[str, Tensor] = {}
        self._start = _numbers(model) if trainings > 1 else {}

    def add(self, model: SentenceTransformer) -> None:
        """Add the weights of a training that has ended, and give the model those it began with."""
        weights = _numbers(model)
        for name, value in self._sum.items():
            weights[name] += value
        self._sum = weights
        self.added += 1
        _give(model, self._start)

    def stir(self, model: SentenceTransformer) -> None:
        """Give the model, as its last training left it, the mean of all trainings."""
        if not self._sum:
            return
        weights = _numbers(model)
        for name, value in self._sum.items():
            weights[name] += value
            weights[name] /= self.added + 1
        _give(model, weights)

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold of it."""
        return {"added": self.added, "sum": self._sum}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """From what a checkpoint held."""
        self.added = state["added"]
        self._sum = {
            name: value.to(self._start[name].device) for name, value in state["sum"].items()
        }


def _numbers(model: SentenceTransformer) -> dict[str, Tensor]:
    """A copy of all that can have a mean, low-rank changes merged into what they change.

    The mean of two products of matrices is not the product of their means.
    """
    found: Mapping[str, Tensor] = model.state_dict()
    weights = {name: value.clone() for name, value in found.items() if value.is_floating_point()}
    for name, layer in changed_layers(model):
        weights[f"{name}.base_layer.weight"] += layer.get_delta_weight(ADAPTER)
        weights[f"{name}.lora_B.{ADAPTER}.weight"].zero_()
    return weights


def _give(model: SentenceTransformer, weights: Mapping[str, Tensor]) -> None:
    import torch

    with torch.no_grad():
        own = model.state_dict()
        for name, value in weights.items():
            own[name].copy_(value)
