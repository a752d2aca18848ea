"""An encoder whose embeddings are set by a test."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.training.support.lazily import Lazily

torch = Lazily("torch")


class Vectors:
    """Replaces a SentenceTransformer: has a vector for every text, and records what it encodes."""

    tokenizer = None
    max_seq_length = None
    default_prompt_name = None

    def __init__(self, rows: Mapping[str, Sequence[float]]) -> None:
        self.rows = {text: np.array(row, dtype=np.float32) for text, row in rows.items()}
        self.encoded: list[str] = []
        self.prompts: dict[str, str] = {}
        self.device = torch.device("cpu")

    def get_embedding_dimension(self) -> int:
        return len(next(iter(self.rows.values())))

    def encode(self, texts: Sequence[str], **_options: Any) -> np.ndarray:
        self.encoded += texts
        found = np.stack([self.rows[text] for text in texts])
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def at(*degrees: float) -> list[list[float]]:
    """Directions in the plane. The cosines are those of the angles between them."""
    return [[np.cos(np.radians(angle)), np.sin(np.radians(angle))] for angle in degrees]
