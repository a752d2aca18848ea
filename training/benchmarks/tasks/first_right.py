"""Benchmarks whose items are a text, the correct answer, and wrong ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from training.benchmarks.data.file_reading import (
    FileRecord,
    at_least_one,
    records,
    source_or_hub,
)
from training.benchmarks.definition import Benchmark, ItemResult, Question, above, answered

RIGHT, WRONG, TIED, UNANSWERED = "right", "wrong", "tied", "unanswered"


class FirstRight(Benchmark[Question]):
    """The share of items whose correct candidate, the first one, scores higher than all others.

    Attributes:
        address: where to download the file.
    """

    metric = "accuracy"
    outcomes = (RIGHT, WRONG, TIED, UNANSWERED)
    address: ClassVar[str] = "its authors"

    @classmethod
    @abstractmethod
    def item(cls, record: FileRecord) -> Question:
        """The item in a row of the file: its text, the right candidate, and the wrong ones.

        Raises:
            HedgerowError: the row is not an item; ``record.text(COLUMN)`` raises a suitable error.
        """

    @classmethod
    def read(cls, source: Path | str = "") -> Self:
        """The items of a table or of JSON Lines, one per row."""
        place = source_or_hub(source, hub=cls.hub, title=cls.title, address=cls.address)
        items = [
            _complete(cls.item(record), record) for record in records(place, expects=cls.expects)
        ]
        return cls(at_least_one(items, place, expects=cls.expects))

    def asked(self, item: Question) -> list[Question]:
        """The item itself."""
        return [item]

    def judged(self, number: int, item: Question, scores: Sequence[np.ndarray]) -> ItemResult:
        """Right if no wrong candidate scores as high as the right one."""
        right, tied = above(scores[0][:1], scores[0][1:])
        whole = answered(scores)
        wrong = TIED if tied else WRONG
        others = {f"wrong {place}": text for place, text in enumerate(item.candidates[1:], start=1)}
        return ItemResult(
            key=str(number),
            outcome=RIGHT if right else wrong if whole else UNANSWERED,
            right=right,
            tied=tied,
            answered=whole,
            scores=tuple(map(float, scores[0])),
            group=str(number),
            texts={"text": item.text, "right": item.candidates[0], **others},
        )


def _complete(item: Question, record: FileRecord) -> Question:
    if len(item.candidates) < 2:
        raise record.wrong("a right candidate and wrong ones", list(item.candidates))
    return item
