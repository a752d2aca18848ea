"""Wraps a function that embeds texts as the only module of a sentence-transformers model."""

# Importing this file imports torch.
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch  # noqa: TID253
from sentence_transformers.base.modules import InputModule  # noqa: TID253

from curation.plug_ins import failures_of
from db.errors import HedgerowError, first_line


class _FunctionModule(InputModule):
    def __init__(self, plug_in: str, embed: Callable[[Sequence[str]], Any]) -> None:
        super().__init__()
        self._plug_in = plug_in
        self._embed = embed
        self._one_at_a_time = threading.Lock()
        self._dimension = self._embeddings(["A sentence."], dimension=None).shape[1]

    def __deepcopy__(self, memo: dict[int, Any]) -> _FunctionModule:
        return self  # copies share the function; only one thread calls it at a time

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        texts = [f"{prompt or ''}{text}" for text in inputs]
        rows = self._embeddings(texts, dimension=self._dimension)
        return {"sentence_embedding": torch.from_numpy(rows)}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return features

    def get_embedding_dimension(self) -> int:
        return int(self._dimension)

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        raise HedgerowError(f"The encoder of the plug-in {self._plug_in!r} can't be saved.")

    def _embeddings(self, texts: list[str], *, dimension: int | None) -> np.ndarray:
        with self._one_at_a_time, failures_of(self._plug_in):
            found = self._embed(texts)
        try:
            rows = np.ascontiguousarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._wrong("numbers", first_line(error)) from error
        wanted = (len(texts), dimension or (rows.shape[-1] if rows.ndim else 0))
        if rows.shape != wanted or not rows.size:
            raise self._wrong(f"embeddings of shape {wanted}", f"{rows.shape}")
        return rows

    def _wrong(self, expected: str, found: str) -> HedgerowError:
        return HedgerowError(
            f"Expected {expected} from the plug-in {self._plug_in!r}, found {found}; repair its "
            "package."
        )


def function_module(plug_in: str, embed: Callable[[Sequence[str]], Any]) -> InputModule:
    """Wrap the function as a module.

    Args:
        plug_in: the plug-in's name, for messages.
        embed: an ``Embed`` function (see ``model_folders``); its results are checked.

    Raises:
        HedgerowError: the function fails or returns anything but embeddings.
    """
    return _FunctionModule(plug_in, embed)
