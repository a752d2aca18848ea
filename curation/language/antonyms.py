"""Known antonyms of a word, from the bundled list of English antonyms."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from curation.language.tokens import load_lexicon, stem

FILE = Path(__file__).with_name("antonyms.json")


def known_antonyms(word: str) -> frozenset[str]:
    """Return the stems of the word's antonyms in the list."""
    return _by_stem().get(stem(word), frozenset())


@lru_cache(maxsize=1)
def _by_stem() -> dict[str, frozenset[str]]:
    """Map each stem to its antonyms' stems. Multiword entries ('a_bargain') are left out."""
    found: dict[str, set[str]] = {}
    for kind in load_lexicon(FILE)["pairs"].values():
        for pair in kind:
            sides = [[stem(w) for w in side.split() if "_" not in w] for side in pair.split("|")]
            for ours, others in (sides, sides[::-1]):
                for word in ours:
                    found.setdefault(word, set()).update(others)
    return {word: frozenset(others) for word, others in found.items()}
