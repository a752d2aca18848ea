"""The bundled retention texts as a list, so that people can read and check them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from training.retention.documents import Document, documents
from training.retention.topics import Topic, topics


class BundledText(NamedTuple):
    """A text that comes with Hedgerow.

    Attributes:
        part: its topic or document.
        kind: its role there.
    """

    part: str
    kind: str
    text: str


@cache
def bundled_texts() -> tuple[BundledText, ...]:
    """The sentences of all topics, then the texts of all documents."""
    of_topics = (_of_topic(f"Topic {number}", one) for number, one in enumerate(topics(), 1))
    of_documents = (
        _of_document(f"Document {number}", one) for number, one in enumerate(documents(), 1)
    )
    return tuple(chain(chain.from_iterable(of_topics), chain.from_iterable(of_documents)))


@cache
def texts_hash() -> str:
    """SHA-256 (64 hex digits) of the texts in their order."""
    texts = [entry.text for entry in bundled_texts()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _of_topic(part: str, topic: Topic) -> Iterator[BundledText]:
    first, *paraphrases = topic.same
    yield BundledText(part, "sentence", first)
    yield from (BundledText(part, "paraphrase", text) for text in paraphrases)
    yield from (BundledText(part, "other sentence", text) for text in topic.other)


def _of_document(part: str, document: Document) -> Iterator[BundledText]:
    yield BundledText(part, "title", document.title)
    yield BundledText(part, "passage", document.passage)
    yield from (BundledText(part, "question", text) for text in document.questions)
    yield BundledText(part, "query", document.query)
    yield BundledText(part, "need", document.need)
