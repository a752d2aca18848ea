"""The size of a benchmark's data in texts, characters and prompts, for time estimates."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from curation.generation.prompts import MeasuringName
from curation.release.freezing import get_release
from db.models import Split
from training.benchmarks.catalogue import benchmark
from training.benchmarks.data.sources import DataChoice
from training.benchmarks.definition import Benchmark
from training.benchmarks.scorers.prompted.orders import distinct_prompts
from training.benchmarks.scorers.prompted.wording import (
    Wording,
    installed,
    letters_of_words,
    prompt_for,
)
from training.benchmarks.tasks.own_families import Hedgerow

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
            letters_of_words(self.prompt, words.of(self.prompt).text)
            for words in (wording, installed())
        )
        return self.prompt_letters + self.prompts * (used - usual)


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
