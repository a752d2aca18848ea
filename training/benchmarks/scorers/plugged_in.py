"""Scorers of other packages: plug-ins of the group ``hedgerow.scorers``.

``interface.Scorer`` says what one looks like.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from curation.encoders.model_folders import first_line
from curation.plug_ins import load_plug_in, plug_in_names
from db.errors import HedgerowError, RunCancelled
from training.benchmarks.definition import Asks, Question
from training.benchmarks.scorers.interface import Pair, Progress, Prompts, Scorer

GROUP = "hedgerow.scorers"

LONGEST_NAME = 40
"""Characters of an architecture that the database has room for."""

Given = TypeVar("Given")

logger = logging.getLogger(__name__)


def plugged_in(built_in: Sequence[str]) -> tuple[str, ...]:
    """The names of all plug-ins but those that have the name of something built in."""
    return tuple(name for name in plug_in_names(GROUP) if name not in built_in)


def plug_in(name: str) -> type[Scorer]:
    """The class of a plug-in.

    Raises:
        HedgerowError: as `load_plug_in`, or its name is too long.
    """
    if len(name) > LONGEST_NAME:
        raise HedgerowError(
            f"Expected at most {LONGEST_NAME} characters as the name of a scorer, found the "
            f"plug-in {name[:60]!r}; rename its entry point."
        )
    return load_plug_in(GROUP, name, Scorer)  # type: ignore[type-abstract]


class PlugIns(NamedTuple):
    """All plug-ins that can be loaded, and of each other one a sentence that says what is wrong."""

    scorers: dict[str, type[Scorer]]
    problems: list[str]


def load_all(names: Sequence[str]) -> PlugIns:
    """Import the plug-ins of these names."""
    found = PlugIns({}, [])
    for name in names:
        try:
            found.scorers[name] = plug_in(name)
        except HedgerowError as error:
            found.problems.append(str(error))
    return found


class PluggedIn(Scorer):
    """The scorer of a plug-in; whatever goes wrong in it is one sentence that names the plug-in."""

    def __init__(self, name: str, model: str, prompts: Prompts) -> None:
        self.name = name
        kind = plug_in(name)
        self._inner = self._guarded(lambda: kind.load(model))
        self._inner.given_prompts = prompts
        self.compares_any = self._inner.compares_any

    def score(
        self, pairs: Sequence[Pair], *, asks: Asks, on_progress: Progress | None = None
    ) -> np.ndarray:
        """As the plug-in's.

        Raises:
            HedgerowError: it fails, or gives something else than a number a pair.
        """
        found = self._guarded(lambda: self._inner.score(pairs, asks=asks, on_progress=on_progress))
        return self._numbers(found, len(pairs))

    def answer(
        self, questions: Sequence[Question], *, asks: Asks, on_progress: Progress | None = None
    ) -> list[np.ndarray]:
        """As the plug-in's, which may look at all candidates of a question together.

        Raises:
            HedgerowError: as in `score`.
        """
        if type(self._inner).answer is Scorer.answer:
            return super().answer(questions, asks=asks, on_progress=on_progress)
        found = self._guarded(
            lambda: list(self._inner.answer(questions, asks=asks, on_progress=on_progress))
        )
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
            raise self._wrong("finite scores, or NaN where there is none", "infinite ones")
        return scores

    def _wrong(self, expected: str, found: str) -> HedgerowError:
        return HedgerowError(
            f"Expected {expected} of the plug-in {self.name!r}, found {found}; repair its package."
        )

    def _guarded(self, work: Callable[[], Given]) -> Given:
        try:
            return work()
        except (HedgerowError, RunCancelled):
            raise
        except Exception as error:  # a foreign package can fail in any way
            logger.error("the plug-in %s failed", self.name, exc_info=error)
            said = f"{type(error).__name__}: {first_line(error)}".rstrip(".")
            raise HedgerowError(
                f"The plug-in {self.name!r} failed ({said}); repair its package, or choose another "
                "architecture."
            ) from error
