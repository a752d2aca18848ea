"""Scorers of other packages: plug-ins of the group ``hedgerow.scorers``.

``interface.Scorer`` is their base class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from curation.plug_ins import failures_of
from db.errors import HedgerowError, first_line
from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.interface import Pair, Progress, Prompts, Scorer


class PluggedIn(Scorer):
    """The scorer of a plug-in. Any error in it becomes one sentence that names the plug-in."""

    def __init__(self, kind: type[Scorer], name: str, model: str, prompts: Prompts) -> None:
        self.name = name
        with failures_of(name):
            self._inner = kind.load(model)
            self._inner.given_prompts = prompts
            self.compares_any = self._inner.compares_any

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """The scores of the plug-in.

        Raises:
            HedgerowError: it fails, or does not return one number per pair.
        """
        with failures_of(self.name):
            found = self._inner.score(pairs, asks=asks, on_progress=on_progress)
        return self._numbers(found, len(pairs))

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The plug-in's choices. It may use all candidates of a question together.

        Raises:
            HedgerowError: as in `score`.
        """
        if type(self._inner).answer is Scorer.answer:
            return super().answer(questions, asks=asks, on_progress=on_progress)
        return self._given(self._inner.answer, questions, asks=asks, on_progress=on_progress)

    def choose(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """The plug-in's own report, if it has one.

        Raises:
            HedgerowError: as in `score`.
        """
        if type(self._inner).choose is Scorer.choose:
            return self.answer(questions, asks=asks, on_progress=on_progress)
        return self._given(self._inner.choose, questions, asks=asks, on_progress=on_progress)

    def _given(
        self,
        give: Callable[..., list[np.ndarray]],
        questions: Sequence[Question],
        *,
        asks: Asks,
        on_progress: Progress | None,
    ) -> list[np.ndarray]:
        with failures_of(self.name):
            found = list(give(questions, asks=asks, on_progress=on_progress))
        if len(found) != len(questions):
            raise self._wrong(f"{len(questions)} answers", f"{len(found)}")
        return [
            self._numbers(scores, len(question.candidates))
            for scores, question in zip(found, questions, strict=True)
        ]

    def _numbers(self, found: object, count: int) -> np.ndarray:
        try:
            scores = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._wrong("numbers", first_line(error)) from error
        if scores.shape != (count,):
            raise self._wrong(f"scores of the shape ({count},)", f"{scores.shape}")
        if np.isinf(scores).any():
            raise self._wrong("finite scores, or NaN for a missing one", "infinite scores")
        return scores

    def _wrong(self, expected: str, found: str) -> HedgerowError:
        return HedgerowError(
            f"Expected {expected} from the plug-in {self.name!r}, found {found}; fix its package."
        )
