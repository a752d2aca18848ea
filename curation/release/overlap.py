"""Contamination: the verbatim overlap of a benchmark's texts with a release.

As in HedgeTriple (§5.1), this finds identical texts, and benchmark samples that share n consecutive
words with the release, with n at least 5. Case and punctuation are ignored. The texts are
arguments, so any two collections can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from curation.content_uids import words_of
from db.errors import HedgerowError

SHORTEST = 5
"""Minimum number of consecutive words, as in HedgeTriple; shorter ones are common phrases."""

EXAMPLES = 20
"""Maximum number of examples."""

CHUNK = 20_000
"""Number of texts whose word runs are in memory at a time."""

_WORDS = 65_536
"""Words whose hashes are cached: the vocabulary of a large corpus, but bounded."""

Some = TypeVar("Some")

_MIX = np.uint64(
    0x9E3779B97F4A7C15
)  # 2**64 divided by the golden ratio, made odd: spreads neighbouring values


class SharedText(NamedTuple):
    """A benchmark text that shares words with the release.

    Attributes:
        sample: the number of its sample, from 0.
        words: the shared words, in lower case and without punctuation.
        release_text: a release text that contains them; '' if the release's texts were not
            available.
        exact: whether they are all the words of both texts.
    """

    sample: int
    text: str
    words: str
    release_text: str
    exact: bool


@dataclass(frozen=True)
class Overlap:
    """The overlap of a release and a benchmark.

    Attributes:
        n: minimum number of consecutive words.
        samples: number of samples in the benchmark.
        exact: number of samples with a text that is identical to a text in the release.
        overlapping: number of samples that share a run of n words with the release, including
            identical texts of at least n words.
        examples: the first `EXAMPLES` texts, identical ones first.
    """

    n: int
    samples: int
    exact: int
    overlapping: int
    examples: tuple[SharedText, ...]

    @property
    def share(self) -> float:
        """The share of overlapping samples, in [0, 1]."""
        return self.overlapping / self.samples if self.samples else 0.0


class Runs:
    """The texts of a release, indexed for comparison with any number of benchmarks.

    They are stored as sorted 64-bit hashes: 8 bytes for each distinct run and text. The probability
    that any two of ten million different runs have the same hash is one in 400,000.
    """

    def __init__(self, texts: Iterable[str], *, n: int = SHORTEST) -> None:
        """Hash the texts in one pass.

        Raises:
            HedgerowError: n is less than `SHORTEST`.
        """
        if n < SHORTEST:
            raise HedgerowError(
                f"Expected sequences of at least {SHORTEST} words, found {n}; most texts share "
                "shorter phrases."
            )
        self.n = n
        runs, wholes, self.texts = [], [], 0
        for chunk in chunks(texts):
            hashed = Hashed(chunk, n)
            runs.append(np.unique(hashed.runs))
            wholes.append(hashed.wholes)
            self.texts += len(chunk)
        self._runs = _merged(runs)
        self._wholes = _merged(wholes)

    @classmethod
    def joined(cls, parts: Sequence[Runs], *, n: int = SHORTEST) -> Runs:
        """Combine several parts of a release, all with runs of n words."""
        whole = cls((), n=n)
        whole.texts = sum(part.texts for part in parts)
        whole._runs = _merged([part._runs for part in parts])
        whole._wholes = _merged([part._wholes for part in parts])
        return whole

    def has_run(self, hashes: np.ndarray) -> np.ndarray:
        """Mark which of these runs' hashes are in the release."""
        return _in(hashes, self._runs)

    def has_whole(self, hashes: np.ndarray) -> np.ndarray:
        """Mark which of these texts' hashes are in the release."""
        return _in(hashes, self._wholes)


def overlap(samples: Iterable[Sequence[str]], runs: Runs, *, texts: Iterable[str] = ()) -> Overlap:
    """Compare a benchmark with a release.

    Args:
        samples: the texts of each benchmark sample, such as a query with its documents.
        runs: the release's runs.
        texts: the release's texts again, to show where an example comes from. They are only read if
            there is an overlap.
    """
    count = exact = overlapping = 0
    found: list[_Hit] = []
    for chunk in chunks(samples):
        owners = [count + place for place, sample in enumerate(chunk) for _ in sample]
        flat = [text for sample in chunk for text in sample]
        hashed = Hashed(flat, runs.n)
        whole, shared = runs.has_whole(hashed.wholes), runs.has_run(hashed.runs)
        exact += len({owners[place] for place in np.flatnonzero(whole)})
        overlapping += len({owners[place] for place in np.unique(hashed.owners[shared])})
        found += _hits(hashed, flat, owners, whole, shared)
        count += len(chunk)
    shown = sorted(found, key=lambda hit: not hit.exact)[:EXAMPLES]
    return Overlap(runs.n, count, exact, overlapping, _examples(shown, texts, runs.n))


class _Hit(NamedTuple):
    sample: int
    text: str
    words: tuple[str, ...]
    hash: np.uint64
    exact: bool


class Hashed:
    """Hashes of texts and of their runs of n words.

    Attributes:
        wholes: (texts,) hash of all words in each text; 0 for a text without words.
        runs: (runs,) hashes of all texts' runs.
        owners: (runs,) the number of each run's text.
        starts: (runs,) the number of its first word in that text.
    """

    def __init__(self, texts: Sequence[str], n: int) -> None:
        words = [words_of(text) for text in texts]
        lengths = np.array([len(of_text) for of_text in words], dtype=np.int64)
        codes = _codes([word for of_text in words for word in of_text])
        firsts = np.concatenate([[0], np.cumsum(lengths)])[:-1] if len(texts) else lengths
        self.n, self.words = n, words
        self.wholes = _folded(codes, firsts, lengths)
        possible = np.maximum(lengths - n + 1, 0)
        self.owners = np.repeat(np.arange(len(texts)), possible)
        begins = np.cumsum(possible) - possible
        self.starts = np.arange(possible.sum()) - np.repeat(begins, possible)
        at = np.repeat(firsts, possible) + self.starts
        self.runs = np.zeros(len(at), dtype=np.uint64)
        for place in range(n):
            self.runs = _mixed(self.runs, codes[at + place])


def _codes(words: Sequence[str]) -> np.ndarray:
    """Return a 64-bit number for each word, the same in every process; shape (words,)."""
    known: dict[str, int] = {}
    rows = np.fromiter((known.setdefault(w, len(known)) for w in words), np.int64, len(words))
    return np.array([_code(word) for word in known], dtype=np.uint64)[rows]


@lru_cache(_WORDS)
def _code(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")


def _mixed(state: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Update each hash with another word; the result depends on the order of the words."""
    state = (state ^ codes) * _MIX
    return state ^ (state >> np.uint64(29))


def _folded(codes: np.ndarray, firsts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the hash of all words in each text, shape (texts,)."""
    state = np.zeros(len(lengths), dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        going = lengths > place
        state[going] = _mixed(state[going], codes[firsts[going] + place])
    return state


def _in(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    places = np.searchsorted(known, hashes)
    places[places == len(known)] = 0
    return known[places] == hashes if len(known) else np.zeros(len(hashes), dtype=bool)


def _merged(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distinct hashes of all parts, sorted, without that of a text without words."""
    found = np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.uint64)
    return found[found != 0]


def _hits(
    hashed: Hashed,
    texts: Sequence[str],
    owners: Sequence[int],
    whole: np.ndarray,
    shared: np.ndarray,
) -> Iterator[_Hit]:
    """Yield the first overlapping texts, at most `EXAMPLES` of each kind, with their first run."""
    for place in np.flatnonzero(whole)[:EXAMPLES]:
        words = tuple(hashed.words[place])
        yield _Hit(owners[place], texts[place], words, hashed.wholes[place], True)
    numbers = np.flatnonzero(shared & ~whole[hashed.owners])
    _, firsts = np.unique(hashed.owners[numbers], return_index=True)
    for number in numbers[firsts[:EXAMPLES]]:
        place, start = hashed.owners[number], hashed.starts[number]
        words = tuple(hashed.words[place][start : start + hashed.n])
        yield _Hit(owners[place], texts[place], words, hashed.runs[number], False)


def _examples(hits: Sequence[_Hit], texts: Iterable[str], n: int) -> tuple[SharedText, ...]:
    """Return the hits, each with a release text that contains its words."""
    sources: dict[_Hit, str] = {}
    pending = chunks(texts) if hits else iter(())
    while len(sources) < len(hits) and (chunk := next(pending, None)) is not None:
        hashed = Hashed(chunk, n)
        for hit in hits:
            if hit not in sources and (place := _place(hit, hashed)) is not None:
                sources[hit] = chunk[place]
    return tuple(
        SharedText(hit.sample, hit.text, " ".join(hit.words), sources.get(hit, ""), hit.exact)
        for hit in hits
    )


def _place(hit: _Hit, hashed: Hashed) -> int | None:
    """Return the number of the first text that contains a hit's words; None if there is none."""
    if hit.exact:
        found = np.flatnonzero(hashed.wholes == hit.hash)
        return int(found[0]) if len(found) else None
    found = np.flatnonzero(hashed.runs == hit.hash)
    return int(hashed.owners[found[0]]) if len(found) else None


def chunks(items: Iterable[Some]) -> Iterator[list[Some]]:
    """Yield the items, `CHUNK` at a time."""
    pending = iter(items)
    while chunk := list(islice(pending, CHUNK)):
        yield chunk


# -- overlap fields -------------------------------------------------------------------------------


QUERY, DOCUMENT = SIDES = ("query", "document")
"""A benchmark's sides: the queries, and the texts they are compared with."""

ANCHOR, POSITIVE, NEGATIVE, UNSUPPORTED = FIELDS = (
    "anchor",
    "positive",
    "negative",
    "unsupported",
)
"""A release's fields: its anchors, and its variants by polarity."""

SampleSides = Mapping[str, Sequence[str]]
"""The texts of a sample by side."""


class FieldOverlap(NamedTuple):
    """The overlap of one field of a release and one side of a benchmark.

    Attributes:
        field: one of `FIELDS`.
        side: one of `SIDES`.
        exact: number of samples with a text on this side that is identical to a text in this field.
        overlapping: number of samples that share a run of words.
    """

    field: str
    side: str
    exact: int
    overlapping: int


def by_field(samples: Iterable[SampleSides], fields: Mapping[str, Runs]) -> list[FieldOverlap]:
    """Compare each field of a release with each side of a benchmark.

    Fields without texts are left out.

    Args:
        fields: the release's, all with runs of the same length.
    """
    fields = {name: runs for name, runs in fields.items() if runs.texts}
    found = {(name, side): [0, 0] for name in fields for side in SIDES}
    n = next((runs.n for runs in fields.values()), 0)
    for chunk in chunks(samples if fields else ()):
        for side in SIDES:
            owners, texts = _flat(chunk, side)
            hashed = Hashed(texts, n)
            for name, runs in fields.items():
                counts = found[name, side]
                counts[0] += len(set(owners[np.flatnonzero(runs.has_whole(hashed.wholes))]))
                shared = np.unique(hashed.owners[runs.has_run(hashed.runs)])
                counts[1] += len(set(owners[shared]))
    return [FieldOverlap(*key, *counts) for key, counts in found.items()]


def _flat(chunk: Sequence[SampleSides], side: str) -> tuple[np.ndarray, list[str]]:
    """Return the texts of a side, and the number of each text's sample."""
    pairs = [(at, text) for at, sample in enumerate(chunk) for text in sample.get(side, ())]
    return np.array([at for at, _ in pairs], dtype=np.int64), [text for _, text in pairs]
