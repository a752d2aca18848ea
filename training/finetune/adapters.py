"""LoRA (Hu et al. 2021) through peft: training low-rank updates of the linear layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from db.errors import HedgerowError

if TYPE_CHECKING:
    from peft.tuners.lora import Linear
    from sentence_transformers import SentenceTransformer

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
