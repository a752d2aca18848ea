"""Sentences on bundled topics, for retention.

Anchors are short, and each has its own subject. They contain no paraphrases or different details of
news, definitions or headlines. An encoder that is trained only on anchors forgets these.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("topics.txt")

OF_A_TOPIC = 4
"""Sentences: one, the same in other words, and others on the topic or a distorted rendering."""


class Topic(NamedTuple):
    """Sentences on one topic.

    Attributes:
        same: they say one thing: the first two in different words; a third distorts it, as a bad
            translation does.
        other: they say something else about it.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All of them."""
        return self.same + self.other


@cache
def topics() -> tuple[Topic, ...]:
    """The bundled topics, in the order of the file.

    They were written for this project by a large language model that had seen neither the corpus
    nor any benchmark, by genre: reports, commentary, speeches, headlines, opinions, definitions,
    everyday texts; some say it again as a clumsy translation would.
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    sides = (line.split(" || ") for line in lines if line)
    return tuple(Topic(tuple(a.split(" | ")), tuple(b.split(" | "))) for a, b in sides)
