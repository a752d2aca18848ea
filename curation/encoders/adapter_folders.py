"""LoRA adapters saved in peft's folder format, and how to merge one into its base encoder.

The folder stores two small matrices per linear layer and names the base encoder. The product of the
two matrices is added to the layer's weights. We merge it ourselves because peft imports Python
modules that its configuration names and silently skips weights that match no layer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from curation.encoders import checkpoint_kind
from curation.encoders.checkpoint_kind import MODULES, read_json
from curation.encoders.model_folders import (
    DEFAULT_ENCODER,
    HUB_ORGANISATION,
    local_folder,
    resolve_encoder,
)
from db.errors import HedgerowError

if TYPE_CHECKING:
    from torch import Tensor

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

PREFIX = "base_model.model."
"""The prefix that peft puts before each layer's name."""

DOWN, UP = ".lora_A.weight", ".lora_B.weight"
"""The suffixes of the two matrices: layer input to rank, and rank to layer output."""

_NOT_PLAIN = ("use_rslora", "rank_pattern", "alpha_pattern", "fan_in_fan_out", "layer_replication")
"""peft settings that change what the matrices mean. Other LoRA variants show in tensor names."""


def is_adapter(folder: Path) -> bool:
    """Whether a folder contains an adapter and no encoder of its own."""
    return (folder / ADAPTER_CONFIG).is_file() and not (folder / MODULES).is_file()


def base_of(folder: Path) -> str:
    """Return the name of the adapter's base encoder, in a form that ``load_encoder`` accepts.

    Raises:
        HedgerowError: the adapter names no base, or its base is another adapter.
    """
    name = read_json(folder / ADAPTER_CONFIG).get("base_model_name_or_path")
    if not isinstance(name, str) or not name.strip():
        raise HedgerowError(
            f"Expected the name of a base encoder in {str(folder / ADAPTER_CONFIG)!r}, found none."
        )
    base = DEFAULT_ENCODER if name == f"{HUB_ORGANISATION}/{DEFAULT_ENCODER}" else name
    found = resolve_encoder(base)
    if isinstance(found, Path) and is_adapter(found):
        raise HedgerowError(
            f"The adapter in {str(folder)!r} names another adapter as its base, {base!r}; an "
            "adapter needs a full encoder as its base."
        )
    return base


def writes_text(folder: Path) -> bool:
    """Whether a folder contains a causal language model or an adapter for one.

    Raises:
        HedgerowError: a configuration is damaged, or an adapter names no base.
    """
    base = base_folder(folder)
    if base is None:
        return read_json(folder / ADAPTER_CONFIG).get("task_type") == "CAUSAL_LM"
    return checkpoint_kind.writes_text(base)


def base_folder(folder: Path) -> Path | None:
    """Return the folder with the model's architecture: this one or, for an adapter, its base's.

    None if an adapter's base is not on this machine.
    """
    return local_folder(base_of(folder)) if is_adapter(folder) else folder


def merge_into_transformer(transformer: Any, folder: Path) -> None:
    """Add an adapter to the weights of a transformers model, in place.

    A model of None has no layers, so no adapter fits it.

    Raises:
        HedgerowError: the adapter is not plain LoRA, is damaged, or does not fit the model.
    """
    import torch

    layers = dict(transformer.named_modules()) if transformer is not None else {}
    scale = _scale(folder)
    for name, (down, up) in _matrices(folder).items():
        weight = getattr(layers.get(name), "weight", None)
        if weight is None or weight.shape != (up.shape[0], down.shape[1]):
            raise HedgerowError(
                f"The adapter in {str(folder)!r} does not fit its base model: the layer {name!r} "
                "is missing from the base or has another size."
            )
        with torch.no_grad():
            change = scale * (up.float() @ down.float())
            weight += change.to(device=weight.device, dtype=weight.dtype)


def _scale(folder: Path) -> float:
    """Return the factor that the matrix products are multiplied by (LoRA's alpha / rank)."""
    config = read_json(folder / ADAPTER_CONFIG)
    rank, alpha = _positive(config.get("r")), _positive(config.get("lora_alpha"))
    plain = config.get("peft_type") == "LORA" and not any(config.get(key) for key in _NOT_PLAIN)
    if not (plain and rank and alpha):
        raise _not_plain(folder)
    return alpha / rank


def _positive(value: Any) -> float:
    """Return the number, or 0 if it is not a positive number."""
    return float(value) if isinstance(value, int | float) and 0 < value < 1e6 else 0.0


def _matrices(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the two matrices of each layer, by layer name."""
    from safetensors.torch import load_file

    try:
        tensors = load_file(folder / ADAPTER_WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise HedgerowError(
            f"Could not read the adapter's weights in {str(folder)!r}: {error}."
        ) from error
    names = {key.removeprefix(PREFIX).removesuffix(DOWN).removesuffix(UP) for key in tensors}
    expected = {f"{PREFIX}{name}{end}" for name in names for end in (DOWN, UP)}
    if not tensors or tensors.keys() != expected or any(t.ndim != 2 for t in tensors.values()):
        raise _not_plain(folder)
    pairs = {
        name: (tensors[f"{PREFIX}{name}{DOWN}"], tensors[f"{PREFIX}{name}{UP}"])
        for name in sorted(names)
    }
    if any(down.shape[0] != up.shape[1] for down, up in pairs.values()):
        raise _not_plain(folder)
    return pairs


def _not_plain(folder: Path) -> HedgerowError:
    return HedgerowError(
        f"Expected a LoRA adapter of linear layers, without extensions, in {str(folder)!r}, found "
        "something else; merge it into its base with peft and choose the merged model."
    )
