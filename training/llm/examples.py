"""Question pairs in the format of a tokenizer: the question, and the answer to learn.

The rows have the format of trl's prompt-completion data sets. Only the completion is learned. With
a chat template, a question is a user turn and its answer an assistant turn. Without one, both are
plain text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.release.question_pairs import NO, YES, QuestionPair
from db.errors import HedgerowError, first_line

ANSWERS = (YES, NO)

Row = dict[str, Any]
"""``prompt`` and ``completion``, each a text or a list of turns."""


def row(prompt: str, answer: str, *, chat: bool) -> Row:
    """A question and its answer."""
    if chat:
        return {
            "prompt": [{"role": "user", "content": prompt}],
            "completion": [{"role": "assistant", "content": answer}],
        }
    return {"prompt": prompt, "completion": f" {answer}"}


class Choice(NamedTuple):
    """A question in tokens: the text before the answer, and the first token of each answer.

    Attributes:
        ids: the tokens before the answers differ.
        first: the next token of each of `ANSWERS`.
        right: the index of the right answer.
    """

    ids: list[int]
    first: tuple[int, int]
    right: int


class Asker:
    """Formats questions for a tokenizer."""

    def __init__(self, tokenizer: Any, *, chat: bool) -> None:
        self._tokenizer, self._chat = tokenizer, chat

    def rows(self, pairs: Iterable[QuestionPair]) -> list[Row]:
        """The pairs as rows for trl."""
        return [row(pair.prompt, pair.answer, chat=self._chat) for pair in pairs]

    def tokens(self, prompt: str, answer: str) -> list[int]:
        """The tokens of a question with an answer.

        Raises:
            HedgerowError: the chat template fails.
        """
        asked = row(prompt, answer, chat=self._chat)
        if not self._chat:
            ids: list[int] = self._tokenizer(asked["prompt"] + asked["completion"])["input_ids"]
            return [*ids, self._tokenizer.eos_token_id]
        try:
            found: Mapping[str, list[int]] = self._tokenizer.apply_chat_template(
                asked["prompt"] + asked["completion"], tokenize=True, return_dict=True
            )
        except Exception as error:  # a template is foreign code
            raise HedgerowError(
                f"The tokenizer's chat template failed ({first_line(error)}); set "
                "chat_template=false, or choose another model."
            ) from error
        return found["input_ids"]

    def fitting(self, pairs: Sequence[QuestionPair], *, longest: int) -> list[QuestionPair]:
        """The pairs with at most this many tokens, including their answers."""
        return [one for one in pairs if len(self.tokens(one.prompt, one.answer)) <= longest]

    def choices(self, pairs: Sequence[QuestionPair]) -> list[Choice]:
        """The question in tokens, for comparing the likelihoods of its answers.

        Raises:
            HedgerowError: the tokenizer writes both answers alike.
        """
        return [self._choice(pair) for pair in pairs]

    def _choice(self, pair: QuestionPair) -> Choice:
        yes, no = (self.tokens(pair.prompt, answer) for answer in ANSWERS)
        for place, first in enumerate(zip(yes, no, strict=False)):
            if first[0] != first[1]:
                return Choice(yes[:place], first, ANSWERS.index(pair.answer))
        raise HedgerowError(
            f"The tokenizer gives {' and '.join(ANSWERS)} the same tokens; choose another model."
        )
