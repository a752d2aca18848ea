"""The likelihood of possible answers to prompts under a causal language model.

Prompts of the same length and with the same answers are computed together, so that nothing is
padded. Each prompt is read once; the tokens of longer answers reuse its key-value cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.scorers.interface import Progress, finite
from training.benchmarks.scorers.prompted.answer_tokens import Answers, AskedPrompt, Ids

TOKENS = 8192
"""Maximum number of tokens in a batch, including answers. An 8B model needs a few GB for it."""


class Likelihoods:
    """Computes the likelihoods with one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        # All logits of long prompts would not fit into memory: some vocabularies have 200,000
        # tokens.
        takes = inspect.signature(model.forward).parameters
        self._last_alone = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}

    def of(
        self, asked: Sequence[AskedPrompt], *, on_progress: Progress | None = None
    ) -> list[np.ndarray | None]:
        """For each prompt, the log probabilities of all of ``answers.spelled``; None if the prompt
        is too long.

        Raises:
            HedgerowError: the model gives a number that is not finite.
        """
        found: list[np.ndarray | None] = [None] * len(asked)
        done = sum(one.ids is None for one in asked)
        for batch in _batches(asked):
            prompts = [asked[number].ids or () for number in batch]
            values = finite(self._batch(prompts, asked[batch[0]].answers))
            for number, row in zip(batch, values, strict=True):
                found[number] = row
            done += len(batch)
            if on_progress:
                on_progress(done, len(asked))
        return found

    def _batch(self, prompts: Sequence[Ids], answers: Answers) -> np.ndarray:
        """The log probabilities, shape (prompts, spelled answers), for prompts of one length."""
        import torch

        paths = longest_beginnings(answers.spelled)
        with torch.inference_mode():
            read = self._model(
                input_ids=self._tensor(prompts), use_cache=bool(paths), **self._last_alone
            )
            first = read.logits[:, -1:].float().log_softmax(-1)
            after = self._after(read, paths, len(prompts)) if paths else None
        # For each answer, the positions that predict its tokens.
        columns = []
        for ids in answers.spelled:
            total = first[:, 0, ids[0]].double()
            if len(ids) > 1 and after is not None:
                path = next(n for n, path in enumerate(paths) if path[: len(ids) - 1] == ids[:-1])
                for place, token in enumerate(ids[1:]):
                    total = total + after[:, path, place, token].double()
            columns.append(total.cpu().numpy())
        return np.stack(columns, axis=1)

    def _after(self, read: Any, paths: Sequence[Ids], prompts: int) -> Any:
        """The log probabilities after each token of each path, shape (prompts, paths, tokens,
        vocabulary)."""
        longest = max(map(len, paths))
        filled = [path + (0,) * (longest - len(path)) for path in paths]  # later tokens are ignored
        memory = getattr(read, "past_key_values", None)
        if memory is None or not hasattr(memory, "batch_repeat_interleave"):
            raise HedgerowError(
                "Expected a transformer that caches prompts, found a "
                f"{type(self._model).__name__}, which does not; choose another model."
            )
        memory.batch_repeat_interleave(len(paths))
        logits = self._model(
            input_ids=self._tensor(filled * prompts), past_key_values=memory, use_cache=True
        ).logits
        return logits.float().log_softmax(-1).unflatten(0, (prompts, len(paths)))

    def _tensor(self, rows: Sequence[Ids]) -> Any:
        import torch

        return torch.tensor(rows, dtype=torch.long, device=self._model.device)


def longest_beginnings(answers: Sequence[Ids]) -> list[Ids]:
    """The tokens that a model must read after a prompt to predict the last token of each answer."""
    starts = {ids[:-1] for ids in answers if len(ids) > 1}
    return sorted(
        start
        for start in starts
        if not any(other != start and other[: len(start)] == start for other in starts)
    )


def _batches(asked: Sequence[AskedPrompt]) -> Iterator[list[int]]:
    """Indices of prompts that are computed together, the longest first."""
    groups: dict[tuple[int, Answers], list[int]] = {}
    for number, one in enumerate(asked):
        if one.ids is not None:
            groups.setdefault((len(one.ids), one.answers), []).append(number)
    for (length, answers), numbers in sorted(groups.items(), key=lambda group: -group[0][0]):
        paths = longest_beginnings(answers.spelled)
        tokens = (length + max(map(len, paths), default=0)) * max(1, len(paths))
        size = max(1, TOKENS // tokens)
        for start in range(0, len(numbers), size):
            yield numbers[start : start + size]
