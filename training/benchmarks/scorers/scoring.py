"""What determines a model's scores besides its files and architecture. It is part of a result's
key.

This includes the similarity of a bi-encoder (if it is not the cosine), prompts that replace the
model's own, and for language models the prompts and the number of orders.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from curation.encoders.adapter_folders import base_folder
from curation.encoders.checkpoint_kind import read_json
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.chat import Chat
from training.benchmarks.scorers.prompted.wording import Wording

PROMPTED = (Chat.architecture, Causal.architecture)
"""Architectures that get prompts."""

SIMILARITIES = {
    "dot": "dot product",
    "euclidean": "Euclidean distance",
    "manhattan": "Manhattan distance",
}
"""Sentence-transformers' similarities other than the cosine, and our names for them."""

BOTH_ORDERS = "both orders"
"""Marks results of chat models. Older results without it used a single order."""

SHOWN = 60
"""Maximum number of characters of a prompt in a model's title."""


def scoring_of(
    folder: Path | None, architecture: str, prompts: Prompts, wording: Wording | None = None
) -> str:
    """The key that a result is stored with, at most 40 characters; '' for the default.

    Args:
        folder: the folder of the model; None if it has none on this machine.
        wording: the prompts of a language model.

    Raises:
        HedgerowError: its configuration is damaged.
    """
    parts = []
    if folder is not None and architecture == BiEncoder.architecture:
        config = read_json((base_folder(folder) or folder) / "config_sentence_transformers.json")
        named = config.get("similarity_fn_name")
        parts += [name for name in SIMILARITIES if name == named]
    if prompts != OWN_PROMPTS:
        parts.append(f"prompts {_digest(prompts)}")
    if architecture == Chat.architecture:
        parts.append(BOTH_ORDERS)
    if architecture in PROMPTED and wording is not None and wording.digest:
        parts.append(f"prompts {wording.digest}")
    return ", ".join(parts)


def scoring_description(
    scoring: str, prompts: Prompts, edited: Mapping[str, int | None] | None = None
) -> list[str]:
    """The same for people: 'dot product', 'query prompt "query: "', 'relevance prompt 2'.

    Args:
        edited: as in `Wording.edited`.
    """
    known = SIMILARITIES | {BOTH_ORDERS: BOTH_ORDERS}
    parts = [known[part] for part in scoring.split(", ") if part in known]
    given = prompts._asdict().items()
    parts += [f"{side} prompt {_quoted(text)}" for side, text in given if text is not None]
    words = (edited or {}).items()
    return parts + [f"{name.replace('_', ' ')} prompt {version}" for name, version in words]


def _quoted(prompt: str) -> str:
    """A prompt in quotation marks, with escaped line breaks. A shortened prompt gets a hash."""
    quoted = json.dumps(prompt, ensure_ascii=False)
    if len(quoted) <= SHOWN:
        return quoted
    return f'{quoted[:SHOWN]}…" [{_digest(Prompts(prompt))[:4]}]'


def _digest(prompts: Prompts) -> str:
    return hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:8]
