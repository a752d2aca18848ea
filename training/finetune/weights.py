"""The trained weights: LoRA's low-rank updates, and the mean of several runs from one encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from db.errors import HedgerowError

if TYPE_CHECKING:
    from peft.tuners.lora import Linear
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


# -- LoRA (Hu et al. 2021) through peft: training low-rank updates of the linear layers -----------


TARGETS = "all-linear"

ADAPTER = "default"
"""peft's default name of an adapter."""


def add_adapter(model: SentenceTransformer, *, rank: int, seed: int) -> None:
    """Freeze the transformer's weights and add low-rank updates to its linear layers.

    The changes are scaled by alpha / rank = 1, as in the paper's Appendix B (rank 16, alpha 16,
    no dropout, no bias).

    Raises:
        HedgerowError: the encoder has no layers that peft can change.
    """
    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    transformer = model[0]
    config = LoraConfig(r=rank, lora_alpha=rank, lora_dropout=0.0, target_modules=TARGETS)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    try:
        transformer.model = get_peft_model(transformer.model, config)
    except (AttributeError, ValueError) as error:
        raise HedgerowError(
            f"LoRA does not work with this encoder ({error}); set lora_rank to none in the recipe."
        ) from error


def merge_adapter(model: SentenceTransformer) -> None:
    """Merge the changes into the weights. The result is an ordinary encoder."""
    transformer = model[0]
    transformer.model = transformer.model.merge_and_unload()
    for parameter in model.parameters():
        parameter.requires_grad_(True)


def changed_layers(model: SentenceTransformer) -> Iterator[tuple[str, Linear]]:
    """The layers with a low-rank change, by their names in the model; empty without an
    adapter."""
    for name, module in model.named_modules():
        if hasattr(module, "base_layer"):
            yield name, module


# -- The mean of the weights of several training runs from one encoder ----------------------------
#
# Models trained from the same weights are close enough that the mean of their weights makes no more
# errors than each of them, and often fewer (Wortsman et al. 2022, *Model soups*). It costs no more
# than one model to use.


class WeightAverage:
    """The sum of the weights so far, and the initial weights of each training run.

    Attributes:
        trainings: the total number of runs.
        added: the number of runs in the sum.
    """

    def __init__(self, model: SentenceTransformer, trainings: int) -> None:
        """Remember the model's initial weights, unless there is only one training."""
        self.trainings, self.added = trainings, 0
        self._sum: dict[str, Tensor] = {}
        self._start = _numbers(model) if trainings > 1 else {}

    def add(self, model: SentenceTransformer) -> None:
        """Add the weights of a finished training, and reset the model to the initial weights."""
        weights = _numbers(model)
        for name, value in self._sum.items():
            weights[name] += value
        self._sum = weights
        self.added += 1
        _give(model, self._start)

    def stir(self, model: SentenceTransformer) -> None:
        """Set the model, which has the state of its last run, to the mean of all runs."""
        if not self._sum:
            return
        weights = _numbers(model)
        for name, value in self._sum.items():
            weights[name] += value
            weights[name] /= self.added + 1
        _give(model, weights)

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"added": self.added, "sum": self._sum}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        self.added = state["added"]
        self._sum = {
            name: value.to(self._start[name].device) for name, value in state["sum"].items()
        }


def _numbers(model: SentenceTransformer) -> dict[str, Tensor]:
    """A copy of all weights that can be averaged, with low-rank changes merged.

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
