"""Bundled documents for retention.

Anchors are single sentences. Documents cover what else the encoder can do: passages of several
sentences, titles, questions that a passage answers, and short queries.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("documents.jsonl")


class Document(NamedTuple):
    """A passage with texts that should find it.

    Attributes:
        title: a headline, page title or heading.
        passage: three to five sentences.
        questions: a short one and a longer one that the passage answers.
        query: two or three words to search for it.
        need: a statement by somebody whom the passage would help.
    """

    title: str
    passage: str
    questions: tuple[str, ...]
    query: str
    need: str

    @property
    def queries(self) -> tuple[str, ...]:
        """The texts that should find the passage."""
        return (self.title, *self.questions, self.query, self.need)


@cache
def documents() -> tuple[Document, ...]:
    """The bundled documents, in the order of the file.

    A large language model wrote them for this project without access to the corpora or any
    benchmark. They include encyclopedia entries, instructions, news, abstracts, forum answers,
    leaflets, policies, biographies, software documentation and recipes.
    """
    rows = map(json.loads, _FILE.read_text(encoding="utf-8").splitlines())
    return tuple(
        Document(row["title"], row["passage"], tuple(row["questions"]), row["query"], row["need"])
        for row in rows
    )
