"""The texts of all bundled corpora: the training data of the encoder *hedgerow-minilm*."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from curation.corpora.corpus import CORPORA
from curation.importing.second_review import variants_of


def anchors_with_variants(types: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each anchor with each of its variants of these types, regardless of their review."""
    for corpus in CORPORA.values():
        for family in corpus.families():
            for _, written in variants_of("", family):
                if written.type_id in types:
                    yield family["anchor"], written.text
