"""The size of a benchmark's data and the speed of earlier runs, for time estimates."""

import socket
from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.generation.prompts import MeasuringName
from curation.release.freezing import get_release
from db.models import BenchmarkResult, Run, Split
from training.benchmarks.catalogue import benchmark
from training.benchmarks.definition import Benchmark
from training.benchmarks.runs.measured_models import CHAT
from training.benchmarks.scorers.embedding_models import Cross
from training.benchmarks.scorers.monot5 import MonoT5
from training.benchmarks.scorers.prompted.causal import Causal
from training.benchmarks.scorers.prompted.interface import distinct_prompts
from training.benchmarks.scorers.prompted.wording import (
    Wording,
    installed,
    letters_of_words,
    prompt_for,
)
from training.benchmarks.sources import DataChoice
from training.benchmarks.tasks.own_families import Hedgerow
from training.models.known import BUILT_IN_WEIGHT

LETTERS_PER_SECOND = 20_000.0
"""Characters per second that the built-in encoder reads on two CPU cores. On one core, it read
10,700 to 13,200 per second of processor time, with texts of 50, 126, 305, 714 and 1,030
characters."""

TELLING = 2.0
"""Seconds. A shorter measurement says nothing about the pace."""

INSPECTED = 50
"""Number of newest results that the pace is estimated from."""


READ_PAIRS = (Cross.architecture, MonoT5.architecture)
"""Architectures that read both texts of a pair together."""


class RunPace(NamedTuple):
    """The time that an earlier result took.

    Attributes:
        units: as counted by `units`; for a chat model, the number of prompts.
        weight: the result of `weight_of`; 0 if unknown.
        tokens_out: the tokens of a chat model's answers, as reported by its server.
    """

    model: str
    architecture: str
    units: float
    seconds: float
    weight: float
    tokens_out: float = 0.0

    @property
    def per_second(self) -> float:
        """Units per second."""
        return self.units / self.seconds


def took(
    units: float, seconds: float, *, weight: float = 0.0, tokens_out: float = 0.0
) -> dict[str, float]:
    """The values in the summary of a result that `paces` reads."""
    return {
        "units": units,
        "seconds": round(seconds, 3),
        "weight": weight,
        "tokens_out": tokens_out,
    }


def paces(session: Session) -> list[RunPace]:
    """The time that results took on this machine, newest first."""
    result = BenchmarkResult
    query = (
        select(col(result.model), col(result.architecture), col(result.summary))
        .join(Run, col(Run.id) == col(result.run_id))
        .where(col(Run.host) == socket.gethostname(), col(result.file) != "")
        .order_by(col(result.id).desc())
        .limit(INSPECTED)
    )
    found = [
        RunPace(model, architecture, **summary["took"])
        for model, architecture, summary in session.execute(query)
        if "took" in summary
    ]
    return [pace for pace in found if pace.units and pace.seconds >= TELLING]


def pace_of(
    earlier: Sequence[RunPace], name: str, architecture: str, weight: float
) -> float | None:
    """Units per second, from this model's newest result, or from other models' results and the
    ratio of the weights. None if there is nothing to estimate from.
    """
    alike = [pace for pace in earlier if pace.architecture == architecture]
    for pace in alike:
        if pace.model == name:
            return pace.per_second
    if not weight:
        return None
    for pace in alike:
        if pace.weight:
            return pace.per_second * pace.weight / weight
    return LETTERS_PER_SECOND * BUILT_IN_WEIGHT / weight


# -- The size of a benchmark's data in texts, characters and prompts, for time estimates ----------


READ = 1_200
"""Approximate number of characters of a text that encoders read: 256 word pieces, like the built-in
encoder."""

KEPT = 64


class Size(NamedTuple):
    """The size of the data of one benchmark.

    Attributes:
        texts, letters: the number of distinct texts, and of the characters that an encoder reads.
        pair_letters: the same number of characters for all distinct pairs that are compared.
        prompts, prompt_letters: the number of distinct prompts in every order, and of their
            characters, with the installed templates.
        prompt: the name of the prompt.
    """

    items: int
    questions: int
    texts: int
    letters: int
    pair_letters: int
    prompts: int
    prompt_letters: int
    prompt: MeasuringName

    def letters_asked(self, wording: Wording) -> int:
        """The characters of all prompts with other templates."""
        used, usual = (
            letters_of_words(self.prompt, words.template(self.prompt).text)
            for words in (wording, installed())
        )
        return self.prompt_letters + self.prompts * (used - usual)


def units(size: Size, architecture: str) -> float:
    """The work that a model's time is proportional to: characters or prompts."""
    if architecture == CHAT:
        return size.prompts
    if architecture == Causal.architecture:
        return size.prompt_letters
    return size.pair_letters if architecture in READ_PAIRS else size.letters


def size_of(data: Benchmark[Any]) -> Size:
    """The size of a benchmark that has been read."""
    questions = data.questions()
    texts = data.texts()
    pairs = {(text, other) for text, candidates in questions for other in candidates}
    asks, paraphrases = data.asks, data.paraphrases
    prompts = distinct_prompts(questions, asks=asks, paraphrases=paraphrases)
    return Size(
        items=len(data.items),
        questions=len(questions),
        texts=len(texts),
        letters=sum(min(READ, len(text)) for text in texts),
        pair_letters=sum(min(READ, len(text) + len(other)) for text, other in pairs),
        prompts=len(prompts),
        prompt_letters=sum(map(len, prompts)),
        prompt=prompt_for(questions, asks=asks, paraphrases=paraphrases),
    )


def size(session: Session, data_folder: Path, choice: DataChoice) -> Size | None:
    """The size of a choice's data; None for data on the model hub that is not downloaded yet.

    Results are cached: a file's name contains its hash, and a release never changes.

    Raises:
        HedgerowError: there is no such release, or the file can't be read.
    """
    kind = benchmark(choice.benchmark)
    if kind is Hedgerow:
        release = get_release(session, choice.release)
        key = (release.content_hash, choice.split)
        if key not in _own:
            _keep(key, _of_release(session, release.id, choice.split))
        return _own[key]
    return _of_file(kind.id, data_folder / choice.data) if choice.data else None


_own: dict[Hashable, Size] = {}


def _keep(key: Hashable, found: Size) -> None:
    while len(_own) >= KEPT:
        _own.pop(next(iter(_own)))
    _own[key] = found


def _of_release(session: Session, release_id: int, split: Split) -> Size:
    return size_of(Hedgerow.of_release(session, release_id, split=split))


@lru_cache(maxsize=KEPT)
def _of_file(name: str, path: Path) -> Size:
    return size_of(benchmark(name).read(path))
