"""A prompt and its possible answers in tokens, however the tokenizer treats spaces.

An answer may follow a prompt with or without a space ('Answer: 1', or '1' as a separate turn); both
ways count. An answer is tokenized together with the end of the prompt, because many tokenizers
split it differently on its own. If one token contains the end of a prompt and the beginning of an
answer, the prompt is cut before it and the token belongs to the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from db.errors import HedgerowError, first_line

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
