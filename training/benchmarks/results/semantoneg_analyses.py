"""SemAntoNeg by training objective, and without the antonyms that a model was taught."""

import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Row, select
from sqlalchemy.orm import Session
from sqlmodel import col

from curation.content_uids import words_of
from curation.encoders.model_folders import TRAINED_ENCODER
from curation.formatting import counted
from curation.importing.second_review import anchors_with_variants
from db.errors import HedgerowError
from db.models import Encoder, Release, ReleaseItem
from training.benchmarks.definition import ItemResult, PartMark, metric_of
from training.benchmarks.results.paper_tables import published
from training.benchmarks.results.queries import Scored, by_column, full_result
from training.benchmarks.tasks.semantoneg import ANTONYMS, SemAntoNeg

# -- objectives -----------------------------------------------------------------------------------
#
# SemAntoNeg by training objective (its Figure 1). The objective is taken from a model's name.
#
# Tables 3 to 6 of the paper group its models in this way. Like the figure, they leave out models
# for search, translation pairs and images.


GENERAL, PARAPHRASE, NLI, STSB = OBJECTIVES = (
    "general purpose",
    "paraphrase",
    "NLI",
    "STSB",
)

OTHER = "other"
"""The label for names that do not show the objective, or show another one."""

_FIRST_FITTING = (
    (re.compile("paraphrase|quora"), PARAPHRASE),
    (re.compile("stsb"), STSB),  # these were trained on NLI first
    (re.compile("nli"), NLI),  # 'ststb', too, as in Table 5
    (re.compile("^(all-|sentence-t5)"), GENERAL),
)

_TRAINED_HERE = re.compile(r"^run \d+: ")


class ModelAccuracy(NamedTuple):
    """A model's accuracy on SemAntoNeg, in points.

    Attributes:
        published: printed by the paper, not measured here.
        n: the number of items.
    """

    model: str
    accuracy: float
    published: bool
    n: int

    @property
    def objective(self) -> str:
        """One of `OBJECTIVES`, or `OTHER`."""
        return objective_of(self.model)


class ObjectiveGroup(NamedTuple):
    """The published models with one objective; scores are in points.

    Attributes:
        variance: the sample variance over the models, in points squared.
        lower, upper: the quartiles.
    """

    objective: str
    models: int
    mean: float
    variance: float
    least: float
    lower: float
    median: float
    upper: float
    most: float


def objective_of(model: str) -> str:
    """The training objective of a model, from the last part of its name.

    A model that was trained here contains the name of its base but has a different objective.
    """
    if _TRAINED_HERE.match(model):
        return OTHER
    name = model.rstrip("/").rpartition("/")[2]
    return next((group for sign, group in _FIRST_FITTING if sign.search(name)), OTHER)


def published_accuracies() -> list[ModelAccuracy]:
    """The models of the paper's Table 8 that have an accuracy, in its order."""
    return [
        ModelAccuracy(number.model, number.score, True, SemAntoNeg.published_items)
        for number in published()
        if number.benchmark == SemAntoNeg.id
    ]


def groups(models: Iterable[ModelAccuracy]) -> list[ObjectiveGroup]:
    """The groups of at least two published models, in the order of `OBJECTIVES`."""
    scores: dict[str, list[float]] = {name: [] for name in OBJECTIVES}
    for model in models:
        if model.published and model.objective in scores:
            scores[model.objective].append(model.accuracy)
    return [_group(name, found) for name, found in scores.items() if len(found) > 1]


def _group(objective: str, scores: Sequence[float]) -> ObjectiveGroup:
    lower, median, upper = statistics.quantiles(scores, n=4, method="inclusive")
    return ObjectiveGroup(
        objective,
        len(scores),
        statistics.mean(scores),
        statistics.variance(scores),
        min(scores),
        lower,
        median,
        upper,
        max(scores),
    )


GROUP_HEAD = "objective,models,mean,variance,least,lower quartile,median,upper quartile,most".split(
    ","
)
MODEL_HEAD = ["model", "objective", "accuracy", "items", "source"]


def group_rows(found: Iterable[ObjectiveGroup]) -> list[tuple[Any, ...]]:
    """The groups as rows of a table under `GROUP_HEAD`; figures to one decimal."""
    return [(name, n, *(round(figure, 1) for figure in figures)) for name, n, *figures in found]


def model_rows(models: Iterable[ModelAccuracy]) -> list[tuple[Any, ...]]:
    """The models as rows of a table under `MODEL_HEAD`, the most accurate first."""
    ordered = sorted(models, key=lambda model: -model.accuracy)
    return [
        (
            m.model,
            m.objective,
            round(m.accuracy, 2),
            m.n,
            "published" if m.published else "measured",
        )
        for m in ordered
    ]


def measured_accuracies(rows: Sequence[Scored]) -> list[ModelAccuracy]:
    """The user's results on the largest SemAntoNeg data that was measured.

    Args:
        rows: the result of ``newest``.
    """
    own = [row for row in rows if row.benchmark == SemAntoNeg.id]
    largest = max(own, key=lambda row: row.n, default=None)
    if largest is None:
        return []
    of_data = by_column(own, largest.column).values()
    return [ModelAccuracy(row.title, row.score, False, row.n) for row in of_data]


# -- SemAntoNeg without the antonym pairs in a model's training data ------------------------------
#
# A model that was trained on a release has seen some of the test's antonym pairs there, in other
# sentences. The score over the other items shows how well it handles unseen pairs. The encoder
# *hedgerow-minilm* was trained on all corpora that come with Hedgerow.


_BATCH = 5_000

BUNDLED = "the corpora that come with Hedgerow"

OTHER_WORDS = ("affixal", "lexical", "negated_antonym", "affirmation", "free_contradiction")
"""Types that replace words of an anchor. The other types only add some."""


class UnseenScore(NamedTuple):
    """The score over the items whose antonyms do not occur in the model's training data.

    Attributes:
        releases: the numbers of the releases that it was trained on.
        score: in points; None if no item is left.
        n: the number of items that are left.
        left_out: the number of items whose antonym pair is in a release.
    """

    releases: tuple[int, ...]
    score: float | None
    n: int
    left_out: int
    bundled: bool = False
    """Whether the model was trained on the corpora that come with Hedgerow."""

    @property
    def where(self) -> str:
        """A description of the training data."""
        found = [f"release {' and '.join(map(str, self.releases))}"] if self.releases else []
        return " and ".join([*found, *([BUNDLED] if self.bundled else [])])

    @property
    def description(self) -> str:
        """A sentence about the score."""
        where = self.where
        if self.score is None:
            return f"The antonym pairs of all items are in {where}."
        return (
            f"{self.score:.1f} over the {counted(self.n, 'item')} whose antonym pair is not in "
            f"{where}; {self.left_out:,} excluded."
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The values for the command line's JSON."""
        return self._asdict() | {"releases": list(self.releases)}


def unseen_scores(
    session: Session, data_folder: Path, rows: Iterable[Scored]
) -> dict[int, UnseenScore]:
    """The second scores of the SemAntoNeg results of models that were trained here, by result id.

    A result without its file has no second score.
    """
    own = [row for row in rows if row.benchmark == SemAntoNeg.id and row.file]
    taught = {hash_: _taught(session, hash_) for hash_ in {row.model_hash for row in own}}
    found = {}
    for row in own:
        data = taught[row.model_hash]
        if row.model == TRAINED_ENCODER:
            data = data._replace(bundled=True)
        if any(data):
            with suppress(
                HedgerowError
            ):  # its file is missing or damaged; the Items section reports it
                found[row.id] = _unseen(session, data_folder, row, data)
    return found


def taught_pairs(session: Session, release: Release, pairs: Iterable[str]) -> frozenset[str]:
    """The antonym pairs that a release teaches, in any split. One of the two words must be in an
    anchor, and the other must be new in one of its variants.

    Args:
        pairs: the names of pairs in SemAntoNeg's results, such as 'cold / hot'.
    """
    wanted = frozenset(pairs)
    key = release.content_hash, wanted
    if key not in _known:
        query = select(col(ReleaseItem.anchor), col(ReleaseItem.text)).where(
            col(ReleaseItem.release_id) == release.id, col(ReleaseItem.type_id).in_(OTHER_WORDS)
        )
        rows = session.execute(query.execution_options(yield_per=_BATCH))
        _known[key] = frozenset(_shown(rows, wanted))
    return _known[key]


@cache
def pairs_in_corpora(pairs: frozenset[str]) -> frozenset[str]:
    """The antonym pairs that the bundled corpora teach."""
    return frozenset(_shown(anchors_with_variants(OTHER_WORDS), pairs))


_known: dict[tuple[str, frozenset[str]], frozenset[str]] = {}
"""A cache by content hash and pairs. A release never changes, and pages ask repeatedly."""


def _shown(rows: Iterable[Row[str, str] | tuple[str, str]], pairs: Iterable[str]) -> Iterator[str]:
    partners: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        one, _, other = pair.partition(" / ")
        partners.setdefault(one, []).append((other, pair))
        partners.setdefault(other, []).append((one, pair))
    for anchor, text in rows:
        before = set(words_of(anchor))
        for word in set(words_of(text)) - before:
            yield from (pair for other, pair in partners.get(word, ()) if other in before)


class _Taught(NamedTuple):
    """The training data of a model and its bases: releases by number, and the bundled corpora."""

    releases: tuple[Release, ...] = ()
    bundled: bool = False


def _taught(session: Session, fingerprint: str) -> _Taught:
    """The training data of a model and its bases; empty for models that were not trained here."""
    query = select(Encoder).where(col(Encoder.fingerprint) == fingerprint)
    encoder = session.execute(query).scalar()
    found: dict[int, Release] = {}
    bundled = False
    while encoder is not None:  # a base is always older, so this terminates
        bundled = bundled or encoder.name == TRAINED_ENCODER
        if encoder.release_id is not None:
            release = session.get_one(Release, encoder.release_id)
            found[release.number] = release
        is_older = encoder.base_id is not None and encoder.base_id < encoder.id
        encoder = session.get(Encoder, encoder.base_id) if is_older else None
    return _Taught(tuple(found[number] for number in sorted(found)), bundled)


def _unseen(session: Session, data_folder: Path, row: Scored, taught: _Taught) -> UnseenScore:
    result = full_result(data_folder, row)
    asked = {mark.value for item in result.rows for mark in _pairs_of(item)}
    pairs = frozenset[str]().union(*(taught_pairs(session, one, asked) for one in taught.releases))
    if taught.bundled:
        pairs |= pairs_in_corpora(frozenset(asked))
    left = [
        item for item in result.rows if not any(mark.value in pairs for mark in _pairs_of(item))
    ]
    score = metric_of(result.kind, left) if left else None
    numbers = tuple(release.number for release in taught.releases)
    left_out = len(result.rows) - len(left)
    return UnseenScore(numbers, score, len(left), left_out, taught.bundled)


def _pairs_of(item: ItemResult) -> list[PartMark]:
    return [mark for mark in item.marks if mark.breakdown == ANTONYMS]
