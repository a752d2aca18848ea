"""Causal language models on this machine, scored by the likelihood of each answer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from curation.encoders.loading import BareTransformer, load_transformer
from db.errors import HedgerowError, first_line
from training.benchmarks.scorers.interface import Progress, finite
from training.benchmarks.scorers.prompted.interface import Prompted
from training.benchmarks.scorers.prompted.wording import Wording, installed

GRID = tuple(round(number / 10, 1) for number in range(-10, 11))
"""The similarities that a model can choose, as answers with one decimal: '-1.0' to '1.0'."""


class Causal(Prompted):
    """Compares the likelihoods of the possible answers.

    The model generates no text, so every answer is usable. A candidate's score is the mean log
    probability of its number over all orders, normalised over the possible numbers. A preference
    for the first position is the same for every candidate and cancels out. A similarity is the mean
    of `GRID`, weighted by the model's probabilities for these numbers. No answer is the beginning
    of another one, so longer answers are not at a disadvantage.

    A prompt is formatted with the chat template if the tokenizer has one. A prompt that is too long
    for the model has no answer.

    Attributes:
        wording: the prompts.
    """

    architecture = "causal-lm"

    def __init__(self, loaded: BareTransformer) -> None:
        self.model, self.tokenizer = loaded
        self.wording: Wording = installed()
        self._tokens = AnswerTokens(self.tokenizer, self.model)
        self._likelihoods = Likelihoods(self.model)

    @classmethod
    def load(cls, name: str) -> Self:
        """The model of this name; an adapter is merged into its base."""
        return cls(load_transformer(name, "AutoModelForCausalLM"))

    def rated(self, prompts: Sequence[str], *, on_progress: Progress | None = None) -> np.ndarray:
        """The expected similarity.

        Raises:
            HedgerowError: the chat template can't be used, or the model's weights are damaged.
        """
        found = self._logarithms(prompts, [f"{number:.1f}" for number in GRID], on_progress)
        return np.exp(_shares(found)) @ np.array(GRID)

    def chosen(
        self, prompts: Sequence[str], choices: int, *, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The log probability of each number, normalised over the possible numbers.

        Raises:
            HedgerowError: as in `rated`.
        """
        names = [str(number) for number in range(1, choices + 1)]
        return _shares(self._logarithms(prompts, names, on_progress))

    def _logarithms(
        self, prompts: Sequence[str], answers: Sequence[str], on_progress: Progress | None
    ) -> np.ndarray:
        """The log probability of each answer after each prompt, shape (prompts, answers)."""
        asked = self._tokens.asked(prompts, answers)
        spelled = self._likelihoods.log_probabilities(asked, on_progress=on_progress)
        found = np.full((len(prompts), len(answers)), np.nan)
        for row, (one, values) in enumerate(zip(asked, spelled, strict=True)):
            if values is not None:
                found[row] = [np.logaddexp.reduce(values[list(way)]) for way in one.answers.ways]
        return found


def _shares(logarithms: np.ndarray) -> np.ndarray:
    """The log probabilities of each row, normalised to a sum of 1."""
    with np.errstate(invalid="ignore"):  # rows without an answer are NaN
        shares: np.ndarray = logarithms - np.logaddexp.reduce(logarithms, axis=1, keepdims=True)
    return shares


# -- The likelihood of possible answers to prompts under a causal language model ------------------
#
# Prompts of the same length and with the same answers are computed together, so that nothing is
# padded. Each prompt is read once; the tokens of longer answers reuse its key-value cache.


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

    def log_probabilities(
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


# -- A prompt and its possible answers in tokens, however the tokenizer treats spaces -------------
#
# An answer may follow a prompt with or without a space ('Answer: 1', or '1' as a separate turn);
# both ways count. An answer is tokenized together with the end of the prompt, because many
# tokenizers split it differently on its own. If one token contains the end of a prompt and the
# beginning of an answer, the prompt is cut before it and the token belongs to the answers.


INSPECTED = 64
"""Number of characters at the end of a prompt that affect how the following answer is split."""

Ids = tuple[int, ...]


class Answers(NamedTuple):
    """Possible answers in tokens.

    Attributes:
        spelled: every spelling of every answer.
        ways: for each answer, the indices of its spellings in ``spelled``.
        cut: the number of tokens at the end of the prompt that belong to the answers.
    """

    spelled: tuple[Ids, ...]
    ways: tuple[Ids, ...]
    cut: int


class AskedPrompt(NamedTuple):
    """A prompt in tokens, cut where its answers begin; ``ids`` is None if it is too long."""

    ids: Ids | None
    answers: Answers


class AnswerTokens:
    """Splits the prompts of one model."""

    def __init__(self, tokenizer: Any, model: Any) -> None:
        """
        Raises:
            HedgerowError: the tokenizer has more tokens than the model.
        """
        self._tokenizer = tokenizer
        self._longest = getattr(model.config, "max_position_embeddings", None) or float("inf")
        self._answers = lru_cache(maxsize=1024)(self._split)
        known = model.get_input_embeddings().weight.shape[0]
        if len(tokenizer) > known:
            raise HedgerowError(
                f"Expected a tokenizer of at most {known:,} tokens, the size of the model's "
                f"vocabulary, found {len(tokenizer):,}; use the model's own tokenizer."
            )

    def asked(self, prompts: Sequence[str], answers: Sequence[str]) -> list[AskedPrompt]:
        """The prompts as the model reads them.

        Raises:
            HedgerowError: its chat template can't be used.
        """
        texts = self._templated(prompts)
        templated = bool(self._tokenizer.chat_template)
        # A template adds its own start token.
        split = self._tokenizer(list(texts), add_special_tokens=not templated, verbose=False)
        end = self._tokenizer.eos_token_id
        found = []
        for text, ids in zip(texts, split["input_ids"], strict=True):
            if not templated and ids and ids[-1] == end:
                ids = ids[:-1]
            possible = self._answers(text[-INSPECTED:], tuple(answers))
            cut = tuple(ids[: len(ids) - possible.cut])
            most = len(cut) + max(map(len, possible.spelled))
            found.append(AskedPrompt(cut if cut and most <= self._longest else None, possible))
        return found

    def _templated(self, prompts: Sequence[str]) -> list[str]:
        if not self._tokenizer.chat_template:
            return [prompt.rstrip() for prompt in prompts]
        try:
            found: list[str] = self._tokenizer.apply_chat_template(
                [[{"role": "user", "content": prompt}] for prompt in prompts],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,  # no reasoning before the answer; other templates ignore it
            )
        except Exception as error:  # a template is foreign code
            raise HedgerowError(
                f"Could not use the model's chat template ({first_line(error)}); fix it, or "
                "remove it to send prompts without one."
            ) from error
        return found

    def _split(self, end: str, answers: tuple[str, ...]) -> Answers:
        """The answers after the end of a prompt."""
        alone = self._ids(end)
        ways = [[self._ids(end + before + answer) for before in ("", " ")] for answer in answers]
        whole = [alone, *(ids for pair in ways for ids in pair)]
        shared = next(
            (at for at in range(len(alone)) if len({ids[at : at + 1] for ids in whole}) > 1),
            len(alone),
        )
        numbers: dict[Ids, int] = {}
        places = tuple(
            tuple(dict.fromkeys(numbers.setdefault(ids[shared:], len(numbers)) for ids in pair))
            for pair in ways
        )
        return Answers(tuple(numbers), places, len(alone) - shared)

    def _ids(self, text: str) -> Ids:
        return tuple(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
