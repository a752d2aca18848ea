"""WordNet: antonyms from its own files if they are installed, and a list that ships with Hedgerow.

This reads WordNet's plain text files (wndb(5WN), Debian: wordnet-base) without a library. Without
WordNet, everything works, but the rules only know the words in their own lists.
"""

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

Part = Literal["adj", "adv"]

FILE = Path(__file__).with_name("adjective_antonyms.json")
"""Antonyms of adjectives from WordNet 3.0, which ``__main__.py`` writes."""

_DEBIAN = Path("/usr/share/wordnet")
_KEY_TYPES = {"3": "adj", "5": "adj", "4": "adv"}
_ANTONYM = "!"


class Sense(NamedTuple):
    """A word's most frequent sense.

    Attributes:
        antonyms: the word's direct antonyms in this sense, single words only.
        senses: the number of senses the word has.
        share: the share of this sense among the word's occurrences in WordNet's tagged texts, 0 to
            1; 1/senses if the word does not occur there.
    """

    antonyms: tuple[str, ...]
    senses: int
    share: float


def folder() -> Path | None:
    """WordNet's folder: from its own variables WNSEARCHDIR or WNHOME, or else Debian's location."""
    places = [_DEBIAN]
    if home := os.environ.get("WNHOME"):
        places.insert(0, Path(home) / "dict")
    if search := os.environ.get("WNSEARCHDIR"):
        places.insert(0, Path(search))
    return next((place for place in places if (place / "index.adj").is_file()), None)


def first_sense(word: str, part: Part) -> Sense | None:
    """Return the most frequent sense of a lower-case word; None without WordNet or the word."""
    place = folder()
    return None if place is None else _first_sense(place, word, part)


@lru_cache(maxsize=16_384)
def _first_sense(place: Path, word: str, part: Part) -> Sense | None:
    try:
        offsets = index(place, part).get(word)
        if not offsets:
            return None
        found = antonyms(place, part, word, offsets[0])
        return Sense(found, len(offsets), _share(place, word, part, len(offsets)))
    except (OSError, ValueError, IndexError):  # files of another kind, or truncated
        return None


@lru_cache(maxsize=4)
def index(place: Path, part: Part) -> dict[str, list[int]]:
    """Map each word to its synsets' positions in the data file (bytes), most frequent first."""
    found: dict[str, list[int]] = {}
    with (place / f"index.{part}").open(encoding="ascii", errors="replace") as file:
        for line in file:
            if not line.startswith("  "):  # the licence
                word, _, synsets, *rest = line.split()
                found[word] = [int(offset) for offset in rest[-int(synsets) :]]
    return found


def _synset(place: Path, part: Part, offset: int) -> tuple[list[str], list[list[str]]]:
    """Read a synset's words and pointers: symbol, offset, part of speech, from word, to word."""
    with (place / f"data.{part}").open("rb") as file:
        file.seek(offset)
        fields = file.readline().decode("ascii", "replace").split(" | ")[0].split()
    count = int(fields[3], 16)
    words = [word.split("(")[0] for word in fields[4 : 4 + 2 * count : 2]]
    first = 5 + 2 * count
    pointers = [fields[i : i + 4] for i in range(first, first + 4 * int(fields[first - 1]), 4)]
    return words, pointers


def antonyms(place: Path, part: Part, word: str, offset: int) -> tuple[str, ...]:
    """Return a word's direct antonyms in the synset at this position, single words only."""
    words, pointers = _synset(place, part, offset)
    found = []
    for symbol, to, _, ends in pointers:
        if symbol == _ANTONYM and words[int(ends[:2], 16) - 1].lower() == word:
            found.append(_synset(place, part, int(to))[0][int(ends[2:], 16) - 1])
    return tuple(other for other in found if other.isalpha() and other.islower())


@lru_cache(maxsize=1)
def _counts(place: Path) -> dict[tuple[str, str], dict[int, int]]:
    """Map word and part of speech to how often each sense (from 1) occurs in the tagged texts."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    with (place / "cntlist.rev").open(encoding="ascii", errors="replace") as file:
        for line in file:
            key, sense, count = line.split()
            word, _, rest = key.partition("%")
            if part := _KEY_TYPES.get(rest[:1]):
                found.setdefault((word, part), {})[int(sense)] = int(count)
    return found


def _share(place: Path, word: str, part: Part, senses: int) -> float:
    counts = _counts(place).get((word, part), {})
    total = sum(counts.values())
    return counts.get(1, 0) / total if total else 1 / senses


def antonym_of(adjective: str) -> str:
    """Return the single-word antonym of a lower-case adjective in the list; '' if none."""
    return _listed_antonyms().get(adjective, "")


@lru_cache(maxsize=1)
def _listed_antonyms() -> dict[str, str]:
    antonyms: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["antonyms"]
    return antonyms
