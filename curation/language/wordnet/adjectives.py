"""Antonyms of adjectives from WordNet 3.0: the list that ships with Hedgerow.

``extract.py`` writes the list. WordNet's licence is next to it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("adjective_antonyms.json")


def antonym_of(adjective: str) -> str:
    """Return the single-word antonym of a lower-case adjective in WordNet; '' if none."""
    return _antonyms().get(adjective, "")


@lru_cache(maxsize=1)
def _antonyms() -> dict[str, str]:
    antonyms: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["antonyms"]
    return antonyms
