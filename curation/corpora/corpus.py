"""The corpora that ship with Hedgerow: what each is called, and where its files are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from curation.corpora import source_names
from db.errors import HedgerowError


class Corpus(NamedTuple):
    """A corpus that can be loaded; its files lie in the folder of its id.

    Attributes:
        id: as commands name it.
        source: the name of the source that its anchors get.
        about: what it holds, in a sentence.
        anchors: how many different sentences it has variants of. A project gets fewer where it has
            some of them from another source.
        reviewer: the model whose review is in its files; '' where there is none.
        whole: whether that reviewer has judged every variant, so that one without a remark is
            accepted; otherwise it is pending.
        seconds: about how long it takes to load.
        second_reviewer: the model that read what the first one accepted once more; '' for none.
        second_types: the types that the second reviewer alone has judged.
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
        """Where its files are."""
        return Path(__file__).with_name(self.id)

    @property
    def readme(self) -> str:
        """Who wrote it, who reviewed it and what for, as Markdown."""
        return (self.folder / "README.md").read_text(encoding="utf-8")

    def families(self) -> list[dict[str, Any]]:
        """An anchor each, with its genre and its variants by type."""
        return list(_lines(self.folder / "families.jsonl"))

    def reviews(self) -> list[dict[str, Any]]:
        """What its reviewer would not take as it stands."""
        path = self.folder / "reviews.jsonl"
        return list(_lines(path)) if path.exists() else []

    def second_reviews(self) -> list[dict[str, Any]]:
        """What its second reviewer changed of what the first one had accepted."""
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
        "1,369 sentences in many genres with the paper's six types, negated antonyms and some "
        "unsupported claims, reviewed by two models."
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
        "819 statements, each with a passage that makes it true, the same passage with one "
        "clause weakened or negated, and search requests that only one of the passages answers."
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
        "212 search requests that exclude something (apart from, other than, without), with "
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
                "12,344 sentences whose predicate has an antonym: negated, with the antonym, and "
                "with the antonym negated."
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
                "6,890 statements with two affirmations, two weaker versions and two "
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
"""What a new project begins with: sentences, passages and searches."""


def corpus(corpus_id: str) -> Corpus:
    """The corpus with this id.

    Raises:
        HedgerowError: there is none.
    """
    found = CORPORA.get(corpus_id)
    if found is None:
        raise HedgerowError(f"Expected a corpus ({', '.join(CORPORA)}), found {corpus_id!r}.")
    return found
