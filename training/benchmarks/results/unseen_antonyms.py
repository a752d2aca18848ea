"""SemAntoNeg without the antonym pairs that a model was taught.

A model that was trained on a release has seen some of the test's antonym pairs there, in other
sentences. The score over the other items says how it does with pairs that are new to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.plurals import counted
from db.errors import HedgerowError
from db.models import Encoder, Release, ReleaseItem
from training.benchmarks.results.metrics import metric_of
from training.benchmarks.results.queries import Scored, full_result
from training.benchmarks.tasks.semantoneg import ANTONYMS, SemAntoNeg, differing_words
from training.evaluation.semantoneg_questions import ANTONYM, BOTH

_BATCH = 5_000
_NOT = re.compile(r"n[’']t\b|\bnot\b", re.IGNORECASE)


class UnseenScore(NamedTuple):
    """The score over the items whose antonyms are in no release that the model was trained on.

    Attributes:
        releases: their numbers.
        score: in points; None where no item is left.
        n: items that are left.
        left_out: items whose antonym pair is in a release.
    """

    releases: tuple[int, ...]
    score: float | None
    n: int
    left_out: int

    @property
    def told(self) -> str:
        """A sentence."""
        where = f"release {' and '.join(map(str, self.releases))}"
        if self.score is None:
            return f"{where} has the antonym pair of every item."
        return (
            f"{self.score:.1f} over the {counted(self.n, 'item')} whose antonym pair is not in "
            f"{where}; {self.left_out:,} left out."
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the command line prints."""
        return self._asdict() | {"releases": list(self.releases)}


def unseen_scores(
    session: Session, data_folder: Path, rows: Iterable[Scored]
) -> dict[int, UnseenScore]:
    """The second scores of the SemAntoNeg results of models that were trained here, by result.

    A result whose file is gone has none.
    """
    own = [row for row in rows if row.benchmark == SemAntoNeg.id and row.file]
    taught = {hash_: _releases(session, hash_) for hash_ in {row.model_hash for row in own}}
    found = {}
    for row in own:
        if releases := taught[row.model_hash]:
            with suppress(HedgerowError):  # its file is gone or damaged: Items says so
                found[row.id] = _unseen(session, data_folder, row, releases)
    return found


def antonyms_of_release(session: Session, release: Release) -> frozenset[str]:
    """The pairs of words in which an anchor differs from a variant that has an antonym for one.

    Of all splits, as SemAntoNeg's results name their pairs ('cold / hot').
    """
    if release.content_hash not in _known:
        query = select(col(ReleaseItem.anchor), col(ReleaseItem.text)).where(
            col(ReleaseItem.release_id) == release.id,
            col(ReleaseItem.type_id).in_((ANTONYM, BOTH)),
        )
        rows = session.execute(query.execution_options(yield_per=_BATCH))
        pairs = {_pair(anchor, text) for anchor, text in rows}
        _known[release.content_hash] = frozenset(pairs - {""})
    return _known[release.content_hash]


_known: dict[str, frozenset[str]] = {}
"""By content hash, since a release never changes, and pages ask again and again."""


def _pair(anchor: str, text: str) -> str:
    """A negated antonym differs by 'not' as well."""
    return differing_words(anchor, text) or differing_words(
        _NOT.sub(" ", anchor), _NOT.sub(" ", text)
    )


def _releases(session: Session, fingerprint: str) -> list[Release]:
    """The releases that a model and its bases were trained on, by number; of others, none."""
    query = select(Encoder).where(col(Encoder.fingerprint) == fingerprint)
    encoder = session.execute(query).scalar()
    found: dict[int, Release] = {}
    while encoder is not None:  # a base was there before, so that this ends
        if encoder.release_id is not None:
            release = session.get_one(Release, encoder.release_id)
            found[release.number] = release
        is_older = encoder.base_id is not None and encoder.base_id < encoder.id
        encoder = session.get(Encoder, encoder.base_id) if is_older else None
    return [found[number] for number in sorted(found)]


def _unseen(
    session: Session, data_folder: Path, row: Scored, releases: Sequence[Release]
) -> UnseenScore:
    pairs = frozenset[str]().union(*(antonyms_of_release(session, one) for one in releases))
    result = full_result(data_folder, row)
    left = [
        item
        for item in result.rows
        if not any(mark.breakdown == ANTONYMS and mark.value in pairs for mark in item.marks)
    ]
    score = metric_of(result.kind, left) if left else None
    numbers = tuple(release.number for release in releases)
    return UnseenScore(numbers, score, len(left), len(result.rows) - len(left))
