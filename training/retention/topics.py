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
        same: sentences with the same content: two in different words, and possibly a third that
            distorts it like a bad translation.
        other: sentences that say something else about the topic.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All sentences."""
        return self.same + self.other


@cache
def topics() -> tuple[Topic, ...]:
    """The bundled topics, in the order of the file.

    A large language model wrote them for this project without access to the corpus or any
    benchmark. The genres are reports, commentary, speeches, headlines, opinions, definitions and
    everyday texts. Some repeat a sentence as a clumsy translation would.
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    sides = (line.split(" || ") for line in lines if line)
    return tuple(Topic(tuple(a.split(" | ")), tuple(b.split(" | "))) for a, b in sides)
