"""What a checkpoint's files show before loading: whether it is a text encoder, or a LoRA adapter.

sentence-transformers loads any transformer as an encoder: it drops the language-modelling or
classification head and averages the token embeddings. Nobody trained such embeddings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from curation.encoders.model_folders import (
    DEFAULT_ENCODER,
    HUB_ORGANISATION,
    local_folder,
    resolve_encoder,
)
from db.errors import HedgerowError

if TYPE_CHECKING:
    from torch import Tensor

MODULES = "modules.json"
"""sentence-transformers writes this file. A folder that contains it lists its own modules."""

SENTENCE_TRANSFORMER = "SentenceTransformer"

_HEADS_OF_ENCODERS = (
    "ForMaskedLM",
    "ForPreTraining",
    "XLMWithLMHeadModel",
    "FlaubertWithLMHeadModel",
)
"""Classes that pretrained encoders are saved with.

Finetuning often starts from such a checkpoint.
"""

_WHAT_THEY_DO = {
    "ForSequenceClassification": "a cross-encoder or classifier",
    "ForTokenClassification": "a token classifier",
    "ForQuestionAnswering": "a question-answering model",
    "ForMultipleChoice": "a classifier",
    "ForCausalLM": "a causal language model, which generates text",
    "T5WithLMHeadModel": "a sequence-to-sequence model, which generates text",
    "LMHeadModel": "a causal language model, which generates text",
    "ForConditionalGeneration": "a sequence-to-sequence model, which generates text",
    "HF_ColBERT": "a late-interaction model",
}


def require_encoder(folder: Path) -> None:
    """Refuse a folder whose files show that it does not contain a text encoder.

    Raises:
        HedgerowError: it contains a model of another kind, or its configuration is damaged.
    """
    kind = saved_as(folder)
    packaged = (folder / MODULES).is_file()
    if packaged and kind in ("", SENTENCE_TRANSFORMER):
        return
    config = read_json(folder / "config.json")
    found = "" if kind in ("", SENTENCE_TRANSFORMER) else f"a {kind}"
    if found := found or what_else(config):
        raise HedgerowError(_refusal(str(folder), found))


def require_encoder_config(name: str, config: Any, files: Sequence[str]) -> None:
    """Refuse a model on the Hub whose files show that it is not a text encoder.

    Args:
        config: the contents of its config.json, according to the Hub.
        files: the names of its files.

    Raises:
        HedgerowError: it is a model of another kind.
    """
    if MODULES not in files and (found := what_else(config)):
        raise HedgerowError(_refusal(name, found))


def what_else(config: Any) -> str:
    """Describe what a transformer is if it is not an encoder; '' for an encoder.

    A configuration that names no architecture passes, because only loading shows what it is.
    """
    for name in architectures(config):
        if name.startswith("DPR"):
            return f"{name}: one of the two encoders of a DPR model, which benchmarks use together"
        if name.endswith(_HEADS_OF_ENCODERS):
            continue
        for ending, what in _WHAT_THEY_DO.items():
            if name.endswith(ending):
                return f"{name}: {what}"
        if re.search(r"For[A-Z]", name):
            return f"{name}: a model with a head for another task"
        if config.get("is_encoder_decoder") is True and "Encoder" not in name:
            return f"{name}: a sequence-to-sequence model"
    return ""


def is_causal(config: Any) -> bool:
    """Whether a transformers configuration names a causal language model."""
    return any(
        name.endswith(("ForCausalLM", "LMHeadModel"))
        and not name.endswith((*_HEADS_OF_ENCODERS, "T5WithLMHeadModel"))
        for name in architectures(config)
    )


def architectures(config: Any) -> list[str]:
    """Return the class names in a config.json, usually one."""
    named = config.get("architectures") if isinstance(config, dict) else None
    return [str(name) for name in named] if isinstance(named, list) else []


def saved_as(folder: Path) -> str:
    """Return the sentence-transformers class that a model was saved from; '' if unknown."""
    return str(read_json(folder / "config_sentence_transformers.json").get("model_type") or "")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file; {} if the file does not exist.

    Raises:
        HedgerowError: the file can't be read.
    """
    try:
        found = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise HedgerowError(f"Expected JSON in {str(path)!r}: {error}.") from error
    return found if isinstance(found, dict) else {}


def read_text(path: Path) -> str:
    """Read a text file; '' if it does not exist.

    Raises:
        HedgerowError: the file can't be read.
    """
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise HedgerowError(f"Could not read {str(path)!r}: {error}.") from error


def _refusal(place: str, found: str) -> str:
    return (
        f"Expected a text encoder in {place!r}, found {found}; choose an encoder, or a "
        f"sentence-transformers model made from this one (a folder with {MODULES})."
    )


# -- LoRA adapters in peft's folder format, and merging one into its base encoder -----------------
#
# The folder stores two small matrices per linear layer and names the base encoder. The product of
# the two is added to the layer's weights. We merge it ourselves because peft imports Python modules
# that its configuration names and silently skips weights that match no layer.


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
    return not (base / MODULES).is_file() and is_causal(read_json(base / "config.json"))


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
