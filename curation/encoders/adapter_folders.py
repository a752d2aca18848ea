"""Adapters: what a training changed in an encoder's linear layers, in a folder of peft's (LoRA).

Such a folder holds two small matrices for each layer and names the encoder that their product is
added to. It is merged here rather than by peft, which takes Python modules to import from its
configuration and passes over weights that it has no place for.
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
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

PREFIX = "base_model.model."
"""What peft puts before the name of each layer."""

DOWN, UP = ".lora_A.weight", ".lora_B.weight"
"""What follows the name: the matrix from a layer's input to the rank, and the one to its output."""

_NOT_PLAIN = ("use_rslora", "rank_pattern", "alpha_pattern", "fan_in_fan_out", "layer_replication")
"""Settings of peft's by which the matrices mean something else; others show in their names."""


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no encoder of its own."""
    return (folder / ADAPTER_CONFIG).is_file() and not (folder / MODULES).is_file()


def base_of(folder: Path) -> str:
    """The encoder that an adapter changes, as ``load_encoder`` takes it.

    Raises:
        HedgerowError: the adapter names none, or one that is an adapter, too.
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
    """Whether a folder holds a causal language model, or an adapter of one.

    Raises:
        HedgerowError: a configuration is damaged, or an adapter names no base.
    """
    base = base_folder(folder)
    if base is None:
        return read_json(folder / ADAPTER_CONFIG).get("task_type") == "CAUSAL_LM"
    return checkpoint_kind.writes_text(base)


def base_folder(folder: Path) -> Path | None:
    """The folder whose files say how a model is built: its own, or that of an adapter's base.

    None where an adapter's base is not on this machine.
    """
    return local_folder(base_of(folder)) if is_adapter(folder) else folder


def merge_into(model: SentenceTransformer, folder: Path) -> None:
    """Add an adapter to the weights of its base: an encoder like any other is left.

    Raises:
        HedgerowError: it is no plain LoRA adapter, is damaged, or does not fit the encoder.
    """
    merge_into_transformer(getattr(model[0], "model", None), folder)


def merge_into_transformer(transformer: Any, folder: Path) -> None:
    """The same for a model of transformers' itself; None has no layers.

    Raises:
        HedgerowError: as `merge_into`.
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
    """What the products of the matrices are multiplied by."""
    config = read_json(folder / ADAPTER_CONFIG)
    rank, alpha = _positive(config.get("r")), _positive(config.get("lora_alpha"))
    plain = config.get("peft_type") == "LORA" and not any(config.get(key) for key in _NOT_PLAIN)
    if not (plain and rank and alpha):
        raise _not_plain(folder)
    return alpha / rank


def _positive(value: Any) -> float:
    """The number; 0 where it is none, or not above 0."""
    return float(value) if isinstance(value, int | float) and 0 < value < 1e6 else 0.0


def _matrices(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """The two matrices of each layer, by its name."""
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
