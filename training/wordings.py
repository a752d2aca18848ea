"""Sentences on one matter, which ship with Hedgerow: text to forget nothing by.

Anchors are short and each is about something else. What news, definitions or headlines say in two
ways, or with other details, they do not show; finetuned with them alone, an encoder forgets it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "reference" / "wordings.txt"

OF_A_MATTER = 4
"""A sentence, the same in other words, with other details, and another statement on the topic."""


@cache
def matters() -> tuple[tuple[str, ...], ...]:
    """Four sentences each, in the order of the file.

    They were written for this project by a large language model that had seen neither the corpus
    nor any benchmark, by genre: reports, commentary, speeches, headlines, opinions, definitions,
    everyday texts; some say it again as a clumsy translation would.
    """
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(tuple(line.split(" | ")) for line in lines if line)
