"""The interface of everything that scores pairs of texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np

from db.errors import HedgerowError
from training.benchmarks.definition import Asks, Question

Pair = tuple[str, str]
"""A query and a document, or two sentences."""

Progress = Callable[[int, int], None]
"""Called with (work done, total work), in the scorer's own units. May raise to cancel."""

Unit = TypeVar("Unit")
Key = TypeVar("Key", bound=Hashable)

Takes = Literal["model", "name", "nothing"]
"""The input of `load`: a model's files, a name that only the scorer understands, or nothing.

- *model*: a folder, a model that was trained here, or a name on the model hub. Results keep the
  fingerprint of its safetensors.
- *name*: passed on as it was typed, for weights in another format or a model behind a server.
  Results keep no fingerprint.
- *nothing*: a baseline such as TF-IDF."""


class Prompts(NamedTuple):
    """Prompts before queries and documents that replace the model's own.

    Attributes:
        query, document: None means the model's own prompt, and '' means no prompt.
    """

    query: str | None = None
    document: str | None = None


OWN_PROMPTS = Prompts()


class Scorer(ABC):
    """Scores pairs of texts: a higher score means nearer, or more relevant.

    Another package can add an architecture by naming a subclass as an entry point of the group
    ``hedgerow.scorers``. The entry point's name (at most 40 characters) is the architecture, in
    ``hedgerow benchmark --architecture`` and on the Benchmarks page; docs/plug_ins.md has an
    example.

    A scorer with a model defines `load`, too. Import torch and other large packages inside the
    methods, since the page imports every plug-in.

    Attributes:
        architecture: the name of a built-in architecture; a plug-in needs none.
        takes: the kind of input for `load`.
        takes_prompts: whether it puts `given_prompts` before queries and documents. `prompted` does
            this; a scorer must then leave out its model's own prompts.
        compares_any: whether it can score the similarity of any two texts, so that the documents of
            a NevIR pair can be compared with each other.
        given_prompts: set after `load`; only where ``takes_prompts``.
    """

    architecture: ClassVar[str]
    takes: ClassVar[Takes] = "model"
    takes_prompts: ClassVar[bool] = False
    compares_any: bool = False
    given_prompts: Prompts = OWN_PROMPTS

    @classmethod
    def load(cls, name: str) -> Self:
        """The scorer of a model. Called once for each model that is measured.

        Args:
            name: if ``takes`` is 'model', a name for ``curation.encoders.loading.load_encoder``
                (``curation.encoders.model_folders.encoder_folder`` finds its files); if it is
                'name', the name as typed; if it is 'nothing', ''.

        Raises:
            HedgerowError: it can't be loaded. One sentence says why, and what to do.
        """
        return cls()

    @abstractmethod
    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """A score for each pair, float64, shape (len(pairs),); NaN for a missing score.

        Scores are only compared with each other, so they can have any scale.

        Args:
            pairs: all different.
            asks: 'relevance' if a pair is a query and a document; 'similarity' if it is two
                sentences.
            on_progress: call it regularly, and do not catch its exceptions.

        Raises:
            HedgerowError: the model gives no usable numbers.
        """

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """For each question, one array with a score per candidate. Every distinct pair is scored
        once."""
        places: dict[Pair, int] = {}
        rows = [
            [places.setdefault((text, other), len(places)) for other in candidates]
            for text, candidates in questions
        ]
        scores = self.score(list(places), asks=asks, on_progress=on_progress)
        return [scores[row] for row in rows]

    def choose(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """Like `answer`, if exactly one candidate of each question is right. A model that gets a
        prompt can then choose one instead of scoring each separately."""
        return self.answer(questions, asks=asks, on_progress=on_progress)

    def report(self) -> dict[str, Any]:
        """Further facts about the last answers, which are stored with the result."""
        return {}

    def prompted(self, pairs: Sequence[Pair], asks: Asks) -> list[Pair]:
        """The pairs with `given_prompts`; pairs of sentences are unchanged."""
        if asks == "similarity":
            return list(pairs)
        query, document = (prompt or "" for prompt in self.given_prompts)
        return [(query + first, document + second) for first, second in pairs]


def distinct(texts: Sequence[Key]) -> tuple[list[Key], np.ndarray]:
    """The distinct texts in order, and the place of each text among them."""
    places: dict[Key, int] = {}
    rows = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(rows, dtype=np.int64)


def by_length(items: Sequence[Unit], length: Callable[[Unit], int]) -> list[int]:
    """Indices of the items, the longest first, so that batches need little padding."""
    return sorted(range(len(items)), key=lambda number: -length(items[number]))


def finite(scores: np.ndarray) -> np.ndarray:
    """The scores.

    Raises:
        HedgerowError: a score is not a finite number.
    """
    if not np.isfinite(scores).all():
        raise HedgerowError(
            "The model's scores are not finite numbers: its weights are damaged or its training "
            "diverged; choose another model."
        )
    return scores
