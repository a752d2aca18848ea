"""Antonyms of adjectives out of WordNet 3.0: the list that ships with Hedgerow.

``extract.py`` writes it; WordNet's licence is next to it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("adjective_antonyms.json")


def antonym_of(adjective: str) -> str:
    """The antonym of an adjective in small letters; '' where WordNet has none of one word."""
    return _antonyms().get(adjective, "")


@lru_cache(maxsize=1)
def _antonyms() -> dict[str, str]:
    antonyms: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["antonyms"]
    return antonyms
