"""NevIR's pairs as training data: stored with the project, split by passage, separate from tests.

A file is stored in the data folder under the hash of its content, separate from tests, which are in
`training.benchmarks.sources.FOLDER`.
"""

import hashlib
import json
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.content_uids import words_of
from curation.formatting import counted
from db.errors import HedgerowError
from training.benchmarks.file_reading import HUB, local
from training.benchmarks.sources import KeptData, keep_data, keep_file_here, kept_data
from training.benchmarks.tasks.nevir import DocumentPair, NevIR, passage_of

FOLDER = "ranking_pairs"

PUBLISHED = NevIR.hub.replace("test.jsonl", "train.jsonl")
"""NevIR's train split on the model hub: 948 pairs."""

HELD_OUT = 0.2
"""Share of the pairs that is held out for evaluation, if there is no second file."""

FEWEST_PASSAGES = 2
"""Minimum number of passages in a file that is split."""


class PairsFile(NamedTuple):
    """A file of pairs that is kept with the project.

    Attributes:
        file: relative to the data folder.
        name: its original name.
        hash: SHA-256 of its content, 64 hex digits.
    """

    file: str
    name: str
    hash: str
    pairs: tuple[DocumentPair, ...]


class PairCounts(NamedTuple):
    """The numbers of training pairs and of evaluation pairs."""

    trained_on: int
    held_out: int

    @property
    def description(self) -> str:
        """A description of both numbers, without a full stop."""
        return f"{counted(self.trained_on, 'training pair')}, {self.held_out:,} held out"


class Parts(NamedTuple):
    """The training and the evaluation data. No passage is in both."""

    train: list[DocumentPair]
    held_out: list[DocumentPair]

    @property
    def counts(self) -> PairCounts:
        """The number of pairs in each part."""
        return PairCounts(len(self.train), len(self.held_out))


def keep_pairs(data_folder: Path, name: str, content: bytes) -> KeptData:
    """Store an uploaded file of pairs; the same content is stored once.

    Raises:
        HedgerowError: the file has another format than NevIR's, or can't be stored.
    """
    return keep_data(data_folder, NevIR.id, {name: content}, folder=FOLDER)


def keep_pairs_of(data_folder: Path, source: str) -> KeptData:
    """Store a file of this machine or of the model hub (named ``hf:owner/name/file``).

    Raises:
        HedgerowError: as in `keep_pairs`, or the file can't be read or downloaded.
    """
    path = local(source)
    if not source.startswith(HUB):
        return keep_file_here(data_folder, NevIR.id, path, folder=FOLDER)
    name = f"{source.split('/')[1]}-{path.name}"
    return keep_pairs(data_folder, name, path.read_bytes())


def kept_pairs(data_folder: Path) -> list[KeptData]:
    """The stored files of pairs, the latest name first."""
    return kept_data(data_folder, NevIR.id, folder=FOLDER)


def read_pairs(data_folder: Path, file: str, *, name: str = "") -> PairsFile:
    """A stored file.

    Args:
        file: relative to the data folder.
        name: its name for people; '' means its own name.

    Raises:
        HedgerowError: it is missing or damaged.
    """
    path = data_folder / file
    if not path.resolve().is_relative_to((data_folder / FOLDER).resolve()) or not path.is_file():
        raise HedgerowError(
            f"Expected the pairs {file[:200]!r} in the data folder, found none; choose the file "
            "again."
        )
    pairs = NevIR.read(path).items
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return PairsFile(file, name or path.name, digest, pairs)


def passages(pairs: Sequence[DocumentPair]) -> list[list[DocumentPair]]:
    """The pairs by passage: pairs with the same passage in their ids, or with a common document.

    The passages are in the order of their first pairs.
    """
    owner: dict[Hashable, list[DocumentPair]] = {}
    for pair in pairs:
        found = (owner[key] for key in _keys(pair) if key in owner)
        groups = {id(group): group for group in found}
        together = [other for group in groups.values() for other in group] + [pair]
        for other in together:
            for key in _keys(other):
                owner[key] = together
    return list({id(group): group for group in owner.values()}.values())


def _keys(pair: DocumentPair) -> Iterator[Hashable]:
    yield passage_of(pair)
    for document in pair.documents:
        yield ("document", _same(document))


def _same(document: str) -> str:
    """A document without case and punctuation, for comparing documents."""
    return " ".join(words_of(document)) or document


def divided(pairs: Sequence[DocumentPair], *, name: str) -> Parts:
    """Split the pairs by passage and hold out a fifth. The split depends only on the texts.

    All models that are trained on the same file are therefore evaluated on the same pairs.

    Args:
        name: the name of the file, for messages.

    Raises:
        HedgerowError: all pairs have the same passage.
    """
    groups = sorted(passages(pairs), key=_place)
    if len(groups) < FEWEST_PASSAGES:
        raise HedgerowError(
            f"Expected pairs of at least {FEWEST_PASSAGES} passages in {name!r}, found one; add "
            "pairs of other passages, or choose a second file for evaluation."
        )
    wanted, held_out = HELD_OUT * len(pairs), list[DocumentPair]()
    while len(held_out) < wanted and len(groups) > 1:
        held_out += groups.pop(0)
    return Parts([pair for group in groups for pair in group], held_out)


def _place(group: Sequence[DocumentPair]) -> str:
    texts = sorted(_same(document) for pair in group for document in pair.documents)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def sharing(
    pairs: Sequence[DocumentPair], others: Sequence[DocumentPair]
) -> list[list[DocumentPair]]:
    """The pairs, by passage, whose passage shares a document with the others."""
    known = {_same(document) for pair in others for document in pair.documents}
    return [
        group
        for group in passages(pairs)
        if any(_same(document) in known for pair in group for document in pair.documents)
    ]


def require_disjoint(train: PairsFile, other: Sequence[DocumentPair], *, other_name: str) -> None:
    """Refuse training data that shares a passage with evaluation data.

    Args:
        other_name: a description of the evaluation data for the end of the message, such as
            "'test.jsonl', which …".

    Raises:
        HedgerowError: they do.
    """
    if shared := sharing(train.pairs, other):
        raise HedgerowError(
            f"Expected training pairs without passages of a test, but {train.name!r} shares "
            f"{counted(len(shared), 'passage')} with {other_name}."
        )


def _tests(data_folder: Path) -> Iterator[tuple[str, Sequence[DocumentPair]]]:
    """The name and the pairs of each NevIR test that the project stores."""
    for kept in kept_data(data_folder, NevIR.id):
        yield kept.name, NevIR.read(data_folder / kept.file).items


def require_untested(data_folder: Path, train: PairsFile) -> None:
    """Refuse training data that shares a passage with a NevIR test in the project.

    Raises:
        HedgerowError: they do.
    """
    for name, test in _tests(data_folder):
        require_disjoint(
            train,
            test,
            other_name=f"{name!r}, which is data of the benchmark NevIR in this project; leave "
            "these pairs out (--leave-out-tested in a terminal), or train on others, such as "
            "NevIR's train split",
        )


def keep_untested(data_folder: Path, file: str, *, name: str = "") -> KeptData:
    """Store the pairs of a file whose passages do not occur in any NevIR test of the project.

    Args:
        file, name: as in `read_pairs`.

    Returns:
        The new file, or the same one if nothing had to be left out.

    Raises:
        HedgerowError: nothing is left, or as in `read_pairs`.
    """
    whole = read_pairs(data_folder, file, name=name)
    tested = [pair for _, test in _tests(data_folder) for pair in test]
    left_out = {id(pair) for group in sharing(whole.pairs, tested) for pair in group}
    rest = [pair for pair in whole.pairs if id(pair) not in left_out]
    if not rest:
        raise HedgerowError(
            f"Expected pairs in {whole.name!r} that are in no test, found none; train on others, "
            "such as NevIR's train split."
        )
    if not left_out:
        return KeptData(NevIR.id, file, whole.name)
    return keep_pairs(data_folder, f"{Path(whole.name).stem}-untested.jsonl", _lines(rest))


def _lines(pairs: Sequence[DocumentPair]) -> bytes:
    """Pairs in NevIR's format."""
    rows = (
        {"id": pair.key}
        | dict(zip(("q1", "q2", "doc1", "doc2"), pair.queries + pair.documents, strict=True))
        for pair in pairs
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parts_of(train: PairsFile, held_out: PairsFile | None) -> Parts:
    """The training and the evaluation pairs.

    Args:
        held_out: a file to evaluate on; None to hold out a part of the other file.

    Raises:
        HedgerowError: as in `divided`, or the two files share a passage.
    """
    if held_out is None:
        return divided(train.pairs, name=train.name)
    require_disjoint(
        train,
        held_out.pairs,
        other_name=f"{held_out.name!r}, the evaluation file; choose another file",
    )
    return Parts(list(train.pairs), list(held_out.pairs))
