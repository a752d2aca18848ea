"""Checks from a checkpoint's configuration, before loading, whether it is a text encoder.

sentence-transformers loads any transformer as an encoder: it drops the language-modelling or
classification head and averages the token embeddings. Nobody trained such embeddings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from db.errors import HedgerowError

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

_OTHER_HEAD = re.compile(r"For[A-Z]")


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
        if _OTHER_HEAD.search(name):
            return f"{name}: a model with a head for another task"
        if config.get("is_encoder_decoder") is True and "Encoder" not in name:
            return f"{name}: a sequence-to-sequence model"
    return ""


_WRITE_TEXT = ("ForCausalLM", "LMHeadModel")


def writes_text(folder: Path) -> bool:
    """Whether a folder contains a causal language model in transformers' format.

    Raises:
        HedgerowError: its configuration is damaged.
    """
    if (folder / MODULES).is_file():
        return False
    return is_causal(read_json(folder / "config.json"))


def is_causal(config: Any) -> bool:
    """Whether a transformers configuration names a causal language model."""
    return any(
        name.endswith(_WRITE_TEXT) and not name.endswith((*_HEADS_OF_ENCODERS, "T5WithLMHeadModel"))
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
