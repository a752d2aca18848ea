"""The trained weights: the optimizer, LoRA's low-rank updates, and the mean of several runs.

This module loads PyTorch: import it inside the functions that train.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253  (the base class)

from db.errors import HedgerowError
from training.finetune.compute.text_encoding import word_embeddings

if TYPE_CHECKING:
    from peft.tuners.lora import Linear
    from sentence_transformers import SentenceTransformer
    from torch import Tensor
    from torch.nn import Parameter

    from training.recipe.schema import Recipe

# -- The optimizer: AdamW with a linear schedule, and sparse updates of word embeddings -----------
#
# A step contains some hundreds of the thirty thousand words in a vocabulary, but a dense optimizer
# updates all of them: this took a fifth of MiniLM's step on a CPU.


MAX_GRADIENT = 1.0
"""Maximum norm of a step's gradient, the default of transformers."""

WARMUP = 0.1
"""Share of the steps during which the learning rate rises; the usual value, in every trial."""

WEIGHT_DECAY = 0.01
"""Weight decay: AdamW's usual value. Over a few thousand steps at these learning rates, it hardly
changes the weights."""


def lazy_words(model: SentenceTransformer) -> Parameter | None:
    """The table of word embeddings, with sparse gradients.

    Call this before creating replicas of the model. None if the table is not trained or does not
    exist, or on Apple's GPUs, which do not support such gradients.
    """
    words = word_embeddings(model)
    if words is None or not words.weight.requires_grad:
        return None
    if model.device.type == "mps":
        return None
    words.sparse = True
    return words.weight


class LazyAdamW(torch.optim.AdamW):
    """AdamW. A step updates only the word embeddings that occur in it."""

    def __init__(
        self, model: SentenceTransformer, recipe: Recipe, *, words: Parameter | None = None
    ) -> None:
        """Take the trained weights. As usual, biases and normalisations do not decay.

        Args:
            words: the weights that `lazy_words` found in this model.
        """
        dense = [p for p in model.parameters() if p.requires_grad and p is not words]
        groups = [
            {"params": [p for p in dense if p.ndim > 1], "weight_decay": WEIGHT_DECAY},
            {"params": [p for p in dense if p.ndim <= 1], "weight_decay": 0.0},
        ]
        rate = recipe.learning_rate
        # Fused: otherwise it would take a third of the time of a MiniLM step on a CPU.
        super().__init__([group for group in groups if group["params"]], lr=rate, fused=True)
        # One for the word embeddings, or none if all weights are dense.
        self._sparse = [] if words is None else [torch.optim.SparseAdam([words], lr=rate)]

    def step(self, closure: Any = None) -> None:
        """Move the weights by their gradients."""
        super().step()
        for optimizer in self._sparse:
            (group,) = optimizer.param_groups
            group["lr"] = self.param_groups[0]["lr"]
            (words,) = group["params"]
            if words.grad is not None and not words.grad.is_sparse:
                words.grad = words.grad.to_sparse(1)  # several processes have added their gradients
            optimizer.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        super().zero_grad(set_to_none)
        for optimizer in self._sparse:
            optimizer.zero_grad(set_to_none)

    def forget(self) -> None:
        """Reset to the state before the first step."""
        self.state.clear()
        for optimizer in self._sparse:
            optimizer.state.clear()

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return super().state_dict() | {"sparse": [held.state_dict() for held in self._sparse]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state from a checkpoint."""
        super().load_state_dict(state_dict)
        for optimizer, held in zip(self._sparse, state_dict["sparse"], strict=True):
            optimizer.load_state_dict(held)


def linear_schedule(
    optimizer: torch.optim.Optimizer, *, steps: int
) -> torch.optim.lr_scheduler.LambdaLR:
    """The learning rate rises during the warm-up and then falls to 0, in each training of this many
    steps."""
    warmup = round(WARMUP * steps)

    def share(step: int) -> float:
        done = step % steps
        return done / warmup if done < warmup else (steps - done) / max(1, steps - warmup)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def clip(weights: Iterable[Parameter]) -> Tensor:
    """Clip the norm of all gradients together. Sparse gradients are coalesced.

    Returns:
        The norm before clipping, a scalar.
    """
    gradients = []
    for weight in weights:
        if weight.grad is not None and weight.grad.is_sparse:
            weight.grad = weight.grad.coalesce()
            gradients.append(weight.grad.values())
        elif weight.grad is not None:
            gradients.append(weight.grad)
    length = torch.nn.utils.get_total_norm(gradients)
    share = (MAX_GRADIENT / (length + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(share.to(gradient.device))
    return length


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
    with torch.no_grad():
        own = model.state_dict()
        for name, value in weights.items():
            own[name].copy_(value)
