"""Overlap by field: which texts in a release share words with which texts in a benchmark.

HedgeTriple (§5.1) argues that overlaps occur in a retrieval benchmark's documents and not in its
queries. A release's fields are anchors, positives, negatives and unsupported variants; a
benchmark's are queries (or inputs) and documents (or candidates).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from curation.release.overlap import Hashed, Runs, chunks

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
