"""T5 as a reranker: monoT5 (Nogueira et al., Findings of EMNLP 2020)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from curation.encoders.loading import BareTransformer, load_transformer
from db.errors import HedgerowError
from training.benchmarks.definition import Asks
from training.benchmarks.scorers.interface import Pair, Progress, Scorer, batches, finite

T5 = "T5ForConditionalGeneration"

ASKED_FOR = "Relevant:"
INPUT = "Query: {} Document: {} " + ASKED_FOR
ANSWERS = ("false", "true")

LONGEST = 512
"""Maximum number of tokens of an input, as in the paper."""

BATCH = 32


class MonoT5(Scorer):
    """The likelihood that a T5 answers 'true' rather than 'false'.

    The input is 'Query: … Document: … Relevant:'. Two sentences take the places of query and
    document. If an input is too long, the end of its document is cut off.
    """

    architecture = "monot5"
    takes_prompts = True

    def __init__(self, loaded: BareTransformer) -> None:
        self.model, self.tokenizer = loaded
        self._answers = _answers(self.tokenizer)
        self._start = getattr(self.model.config, "decoder_start_token_id", None)
        if self._start is None:
            self._start = self.tokenizer.pad_token_id
        self._tail = len(self.tokenizer(ASKED_FOR)["input_ids"])

    @classmethod
    def load(cls, name: str) -> Self:
        """The T5 of this name."""
        return cls(load_transformer(name, T5))

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The log probability of 'true', normalised over 'true' and 'false'."""
        inputs = self._inputs(self.prompted(pairs, asks))
        scores = np.empty(len(pairs), dtype=np.float64)
        for batch in batches(inputs, len, size=BATCH, on_progress=on_progress):
            false, true = self._logits([inputs[number] for number in batch]).T
            scores[batch] = -np.logaddexp(0.0, false - true)
        return finite(scores)

    def _inputs(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """The tokens of each pair. All end with the request for the answer."""
        texts = [INPUT.format(query, document) for query, document in pairs]
        found: list[list[int]] = self.tokenizer(texts, verbose=False)["input_ids"]
        kept = LONGEST - self._tail
        return [ids if len(ids) <= LONGEST else ids[:kept] + ids[-self._tail :] for ids in found]

    def _logits(self, inputs: list[list[int]]) -> np.ndarray:
        """The logits of both answers as the first word, shape (len(inputs), 2)."""
        import torch

        padded = self.tokenizer.pad({"input_ids": inputs}, return_tensors="pt")
        start = torch.full((len(inputs), 1), self._start)
        with torch.inference_mode():
            given = self.model(
                input_ids=padded["input_ids"].to(self.model.device),
                attention_mask=padded["attention_mask"].to(self.model.device),
                decoder_input_ids=start.to(self.model.device),
            )
        return given.logits[:, 0, self._answers].double().cpu().numpy()


def _answers(tokenizer: Any) -> list[int]:
    """The tokens of 'false' and 'true'.

    Raises:
        HedgerowError: the tokenizer has no single token for one of them.
    """
    found = [tokenizer(answer, add_special_tokens=False)["input_ids"] for answer in ANSWERS]
    if any(len(ids) != 1 or ids[0] == tokenizer.unk_token_id for ids in found):
        raise HedgerowError(
            f"Expected a T5 with a token for each of {' and '.join(ANSWERS)}, like monoT5, found "
            "another tokenizer; choose another model."
        )
    return [ids[0] for ids in found]
