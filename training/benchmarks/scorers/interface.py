"""The interface of everything that scores pairs of texts, and scorers without a model."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np

from curation.content_uids import words_of
from db.errors import HedgerowError
from training.benchmarks.definition import Asks, Benchmark, Question, Result

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


def batches(
    items: Sequence[Unit],
    length: Callable[[Unit], int],
    *,
    size: int,
    on_progress: Progress | None = None,
) -> Iterator[list[int]]:
    """Indices of the items in batches, the longest first, so that batches need little padding.

    Args:
        size: the maximum number of items in a batch.
        on_progress: called after each batch.
    """
    order = sorted(range(len(items)), key=lambda number: -length(items[number]))
    for start in range(0, len(order), size):
        yield order[start : start + size]
        if on_progress:
            on_progress(min(start + size, len(order)), len(order))


class Sides(NamedTuple):
    """The distinct queries and documents of pairs, and the places of each pair's texts in them."""

    queries: list[str]
    documents: list[str]
    first: np.ndarray
    second: np.ndarray

    def progress(self, on_progress: Progress | None) -> tuple[Progress, Progress]:
        """What to call for the queries, and then for the documents: both are parts of one work."""
        before, total = len(self.queries), len(self.queries) + len(self.documents)

        def report(done: int) -> None:
            if on_progress:
                on_progress(done, total)

        return lambda done, _: report(done), lambda done, _: report(before + done)


def sides(pairs: Sequence[Pair]) -> Sides:
    """The two sides of pairs, so that each distinct text of a side is encoded once."""
    queries, first = distinct([pair[0] for pair in pairs])
    documents, second = distinct([pair[1] for pair in pairs])
    return Sides(queries, documents, first, second)


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


# -- Scorers without a model: TF-IDF and random scores --------------------------------------------


class TfIdf(Scorer):
    """Cosine of the texts' TF-IDF vectors: word counts weighted by how rare each word is.

    The weights are scikit-learn's, fitted on the texts that are scored. No stop words are removed,
    because they include negators. NevIR's own script fits the weights on each query with one
    document, and removes stop words.
    """

    architecture = "tf-idf"
    takes = "nothing"
    compares_any = True

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Cosines in [0, 1]; 0 for a text without words."""
        # Loading scikit-learn takes a second.
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

        texts, rows = distinct([text for pair in pairs for text in pair])
        if not any(words_of(text) for text in texts):
            return np.zeros(len(pairs))
        vectors = TfidfVectorizer(analyzer=words_of).fit_transform(texts)
        first, second = vectors[rows[::2]], vectors[rows[1::2]]
        if on_progress:
            on_progress(len(texts), len(texts))
        return np.asarray(first.multiply(second).sum(axis=1), dtype=np.float64).ravel()


class Random(Scorer):
    """Uniform random scores in [0, 1) that depend only on the pair and a seed."""

    architecture = "random"
    takes = "nothing"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """Numbers that depend on the seed and on both texts."""
        scores = np.array([self._sampled(*pair) for pair in pairs], dtype=np.float64)
        if on_progress:
            on_progress(len(pairs), len(pairs))
        return scores

    def _sampled(self, first: str, second: str) -> float:
        digest = hashlib.sha256(f"{self.seed}\0{first}\0{second}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64


# -- Measuring a model with a benchmark -----------------------------------------------------------


def measure(
    benchmark: Benchmark[Any], scorer: Scorer, *, on_progress: Progress | None = None
) -> Result:
    """Let the model answer all questions, and evaluate the answers.

    Raises:
        HedgerowError: the model gives no usable numbers, or the server of a chat model none at all.
    """
    give = scorer.choose if benchmark.paraphrases else scorer.answer
    scores = give(benchmark.questions(), asks=benchmark.asks, on_progress=on_progress)
    asked = scorer.report()
    asides = benchmark.asides() if scorer.compares_any else []
    aside = scorer.answer(asides, asks="similarity") if asides else []
    result = benchmark.evaluate(scores, np.concatenate(aside) if aside else ())
    return replace(result, asked=asked)
