"""The bundled corpora: their names, descriptions and files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from curation.corpora import source_names
from db.errors import HedgerowError


class Corpus(NamedTuple):
    """A corpus that can be loaded; its files are in the folder named after its id.

    Attributes:
        id: its name in commands.
        source: name of the source of its anchors.
        about: its contents, in one sentence.
        anchors: number of distinct sentences with variants. A project gets fewer if it already has
            some of them from another source.
        reviewer: the model whose review is in its files; '' if there is none.
        whole: whether that reviewer has judged every variant. If so, a variant without a remark is
            accepted; otherwise it is pending.
        seconds: approximate loading time.
        second_reviewer: the model that reviewed again what the first one had accepted; '' for none.
        second_types: the types that only the second reviewer has judged.
    """

    id: str
    source: str
    about: str
    anchors: int
    reviewer: str
    whole: bool
    seconds: int
    second_reviewer: str = ""
    second_types: tuple[str, ...] = ()
    licence: str = "CC BY 4.0"

    @property
    def folder(self) -> Path:
        """The folder with its files."""
        return Path(__file__).with_name(self.id)

    @property
    def readme(self) -> str:
        """Its authors, reviewers and purpose, as Markdown."""
        return (self.folder / "README.md").read_text(encoding="utf-8")

    def families(self) -> list[dict[str, Any]]:
        """One line per anchor, with its genre and its variants by type."""
        return list(_lines(self.folder / "families.jsonl"))

    def reviews(self) -> list[dict[str, Any]]:
        """The variants that its reviewer rejected or edited."""
        path = self.folder / "reviews.jsonl"
        return list(_lines(path)) if path.exists() else []

    def second_reviews(self) -> list[dict[str, Any]]:
        """The accepted variants that its second reviewer rejected or edited."""
        path = self.folder / "second_reviews.jsonl"
        return list(_lines(path)) if path.exists() else []

    @property
    def reviewers(self) -> list[str]:
        """The models whose reviews are in its files."""
        return [name for name in (self.reviewer, self.second_reviewer) if name]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


STARTER = Corpus(
    id="starter",
    source=source_names.STARTER,
    about=(
        "1,369 sentences in many genres, with variants of the paper's six types, negated "
        "antonyms and some unsupported claims. Language models have reviewed every variant."
    ),
    anchors=1_369,
    reviewer="starter-llm",
    second_reviewer="starter-llm-2",
    second_types=("unsupported",),
    whole=True,
    seconds=5,
)

PASSAGES = Corpus(
    id="passages",
    source=source_names.PASSAGES,
    about=(
        "819 statements, each with a passage that supports it, the same passage with one "
        "clause weakened or negated, and search queries that only one of the passages answers."
    ),
    anchors=819,
    reviewer="passages-llm",
    whole=True,
    seconds=10,
)

EXCLUSIONS = Corpus(
    id="exclusions",
    source=source_names.EXCLUSIONS,
    about=(
        "212 search queries that exclude something (apart from, other than, without), with "
        "matching texts and texts about what is excluded."
    ),
    anchors=212,
    reviewer="exclusions-llm",
    whole=True,
    seconds=5,
)

CORPORA = {
    corpus.id: corpus
    for corpus in (
        STARTER,
        PASSAGES,
        EXCLUSIONS,
        Corpus(
            id="antonyms",
            source=source_names.ANTONYMS,
            about=(
                "12,344 sentences whose predicate has an antonym, each with three variants: the "
                "predicate negated, the antonym, and the antonym negated."
            ),
            anchors=12_344,
            reviewer="",
            whole=False,
            seconds=20,
        ),
        Corpus(
            id="claims",
            source=source_names.CLAIMS,
            about=(
                "6,890 statements, each with two affirmations, two weaker versions and two "
                "contradictions, all free-form."
            ),
            anchors=6_890,
            reviewer="claims-llm",
            whole=False,
            seconds=20,
        ),
    )
}
"""Every corpus by its id."""

FIRST = (STARTER, PASSAGES, EXCLUSIONS)
"""The corpora of a new project: sentences, passages and search queries."""


def corpus(corpus_id: str) -> Corpus:
    """The corpus with this id.

    Raises:
        HedgerowError: there is no such corpus.
    """
    found = CORPORA.get(corpus_id)
    if found is None:
        raise HedgerowError(f"Expected a corpus ({', '.join(CORPORA)}), found {corpus_id!r}.")
    return found
