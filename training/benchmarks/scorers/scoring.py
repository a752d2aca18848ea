"""What decides a model's scores besides its files and its architecture, as results are told apart.

That is the similarity of a bi-encoder, where it is not the cosine, and the prompts that somebody
gave in place of the model's own.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from curation.encoders.adapter_folders import base_folder
from curation.encoders.checkpoint_kind import read_json
from training.benchmarks.scorers.embedding_models import BiEncoder
from training.benchmarks.scorers.interface import OWN_PROMPTS, Prompts

SIMILARITIES = {
    "dot": "dot product",
    "euclidean": "Euclidean distance",
    "manhattan": "Manhattan distance",
}
"""What sentence-transformers knows beside the cosine, in its words and in ours."""

SHOWN = 60
"""Characters of a prompt in a model's title."""


def scoring_of(folder: Path | None, architecture: str, prompts: Prompts) -> str:
    """The key that a result is stored with, at most 40 characters; '' for the usual.

    Args:
        folder: of the model; None where it has none here.

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
    return ", ".join(parts)


def scoring_told(scoring: str, prompts: Prompts) -> list[str]:
    """The same for people: 'dot product', 'query prompt "query: "'."""
    told = [SIMILARITIES[part] for part in scoring.split(", ") if part in SIMILARITIES]
    given = prompts._asdict().items()
    return told + [f"{side} prompt {_quoted(text)}" for side, text in given if text is not None]


def _quoted(prompt: str) -> str:
    """A prompt in quotation marks, with its line breaks as \\n; what is cut off has a digest."""
    quoted = json.dumps(prompt, ensure_ascii=False)
    if len(quoted) <= SHOWN:
        return quoted
    return f'{quoted[:SHOWN]}…" [{_digest(Prompts(prompt))[:4]}]'


def _digest(prompts: Prompts) -> str:
    return hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:8]
