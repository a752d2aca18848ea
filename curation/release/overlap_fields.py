"""Overlap by field: which texts of a release share words with which texts of a benchmark.

HedgeTriple (§5.1) argues that overlaps occur in the documents of a retrieval test and not in its
queries. Fields of a release are anchors, positives, negatives and unsupported variants;
of a test, queries (or inputs) and documents (or candidates).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.release.overlap import Hashed, Runs, chunks

QUERY, DOCUMENT = SIDES = ("query", "document")
"""Of a test: what is asked or compared, and what it is compared with."""

ANCHOR, POSITIVE, NEGATIVE, UNSUPPORTED = FIELDS = (
    "anchor",
    "positive",
    "negative",
    "unsupported",
)
"""Of a release; the others are those of a variant's polarity."""

SampleSides = Mapping[str, Sequence[str]]
"""The texts of a sample by side."""


class FieldOverlap(NamedTuple):
    """The overlap of one field of a release and one side of a benchmark.

    Attributes:
        field: one of `FIELDS`.
        side: one of `SIDES`.
        exact: samples of which a text on this side is a text of this field.
        overlapping: samples that share a run of words.
    """

    field: str
    side: str
    exact: int
    overlapping: int


def by_field(samples: Iterable[SampleSides], fields: Mapping[str, Runs]) -> list[FieldOverlap]:
    """Compare each field of a release with each side of a benchmark; fields without texts are left
       out.

    Args:
        fields: of the release, all with runs of the same length.
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
    """The texts of a side, and for each the number of its sample."""
    pairs = [(at, text) for at, sample in enumerate(chunk) for text in sample.get(side, ())]
    return np.array([at for at, _ in pairs], dtype=np.int64), [text for _, text in pairs]
